/* Runs generated kernels on another processor, or under an emulator of it.
 *
 *     driver JOB RESULT SLACK
 *
 * JOB, in 64-bit words: buffers (size, then content in whole words), pointers to write into buffers (buffer, place,
 * the buffer they lead to, the place there), calls (function, count, arguments as (is it a buffer, value or buffer)).
 * RESULT: what the buffers hold afterwards. Each buffer ends SLACK bytes before a page that cannot be touched, so that a
 * kernel that reads or writes beyond them ends this program.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *functions[]; /* the table that the test writes */

static FILE *job;

static int64_t word(void) {
  int64_t w;
  if (fread(&w, 8, 1, job) != 1) exit(2);
  return w;
}

static char *guarded(int64_t size, int64_t slack) {
  int64_t page = sysconf(_SC_PAGESIZE), whole = (size + slack + page - 1) / page * page;
  char *start = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || mprotect(start + whole, page, PROT_NONE)) exit(3);
  return start + whole - slack - size;
}

typedef int64_t W;
typedef void (*Call)(W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W);

int main(int argc, char **argv) {
  if (argc != 4 || !(job = fopen(argv[1], "rb"))) return 1;
  int64_t buffers = word();
  char **at = calloc(buffers, sizeof *at);
  int64_t *sizes = calloc(buffers, sizeof *sizes);
  for (int64_t i = 0; i < buffers; ++i) {
    sizes[i] = word();
    at[i] = guarded(sizes[i], atoll(argv[3]));
    if (sizes[i] && fread(at[i], 1, sizes[i], job) != (size_t)sizes[i]) return 2;
    fseek(job, (8 - sizes[i] % 8) % 8, SEEK_CUR);
  }
  for (int64_t n = word(); n > 0; --n) {
    int64_t in = word(), place = word(), to = word(), there = word();
    *(char **)(at[in] + place) = at[to] + there;
  }
  for (int64_t n = word(); n > 0; --n) {
    int64_t function = word(), count = word();
    W a[16] = {0};
    for (int64_t i = 0; i < count; ++i) {
      int64_t is_buffer = word(), value = word();
      a[i] = is_buffer ? (W)at[value] : value;
    }
    ((Call)functions[function])(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
                                a[13], a[14], a[15]);
  }
  FILE *result = fopen(argv[2], "wb");
  if (!result) return 1;
  for (int64_t i = 0; i < buffers; ++i)
    if (sizes[i] && fwrite(at[i], 1, sizes[i], result) != (size_t)sizes[i]) return 2;
  return fclose(result);
}

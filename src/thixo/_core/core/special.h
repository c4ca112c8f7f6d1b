// Special functions of real arguments, in double. Accurate to about 1e-14 relative (absolute near
// zeros of the function); poles, infinities and NaN as in SciPy.
#pragma once
#include "array.h"

namespace thixo {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

// By name ("erfinv", "bessel_j0", ...); nullptr if there is none.
Unary find_special1(const char* name);
Binary find_special2(const char* name);

// result = function of each element: floating dtypes (all arrays the same), equal shapes, any
// strides, on the thread pool. Narrow types compute in double and round once; "nextafter" steps in
// the arrays' own dtype.
void map_special1(Unary function, const Array& result, const Array& x);
void map_special2(Binary function, const Array& result, const Array& x, const Array& y);

namespace special {

// error function and the normal distribution (special_error.cpp)
double erfcx(double x);  // exp(x^2) erfc(x)
double erfinv(double y);
double ndtr(double x);
double ndtri(double p);
double log_ndtr(double x);
double logit(double p);
double entr(double x);  // -x log x

// gamma function and its kin (special_gamma.cpp, special_igamma.cpp)
double lgamma(double x);  // log |gamma(x)|
double gamma_sign(double x);
double digamma(double x);
double trigamma(double x);
double polygamma(double n, double x);
double zeta(double s, double q);  // of Hurwitz
double igamma(double a, double x);   // regularised, lower
double igammac(double a, double x);  // regularised, upper

// Bessel and Airy functions (special_bessel.cpp, special_waves.cpp)
double i0(double x);
double i0e(double x);
double i1(double x);
double i1e(double x);
double k0(double x);
double k0e(double x);
double k1(double x);
double k1e(double x);
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double spherical_bessel_j0(double x);
double sinc(double x);  // sin(pi x) / (pi x)
double airy_ai(double x);

// Orthogonal polynomials (special_polynomials.cpp): of degree n truncated to an integer; 0 for n < 0.
double chebyshev_t(double x, double n);
double chebyshev_u(double x, double n);
double chebyshev_v(double x, double n);
double chebyshev_w(double x, double n);
double shifted_chebyshev_t(double x, double n);
double shifted_chebyshev_u(double x, double n);
double shifted_chebyshev_v(double x, double n);
double shifted_chebyshev_w(double x, double n);
double hermite_h(double x, double n);
double hermite_he(double x, double n);
double laguerre_l(double x, double n);
double legendre_p(double x, double n);

}  // namespace special
}  // namespace thixo

"""Two outputs in float64; parameters without a dtype take the dtype of the arrays."""

import math

import numpy as np
from common import array, check, load

rng = np.random.default_rng(0)
spot, strike = rng.uniform(10, 100, (2, 10_000))
years = rng.uniform(0.1, 5, 10_000)

options = load("black_scholes")
call, put = options(array(spot), array(strike), array(years), rate=0.05)

rate, volatility = 0.05, 0.3
d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * np.sqrt(years))
cdf = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
exact = spot * cdf(d1) - strike * np.exp(-rate * years) * cdf(d1 - volatility * np.sqrt(years))
check("calls", options, call, exact, 1e-12)
check("puts", options, put, exact - spot + strike * np.exp(-rate * years), 1e-12)

package bigquerytest

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

var (
	errDecimalText  = errors.New("not a number")
	errDecimalRange = errors.New("out of range")
)

// Limits of NUMERIC and BIGNUMERIC.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-types#decimal_types
const (
	numericScale    = 9
	bigNumericScale = 38
	// maxDecimalBytes bounds the text of a number before it is looked at.
	maxDecimalBytes = 1 << 10
)

var (
	pow10         [bigNumericScale + 1]*big.Int
	maxNumeric    = mustInt(strings.Repeat("9", 38))                                                         // × 1e-9
	maxBigNumeric = mustInt("57896044618658097711785492504343953926634992332820282019728792003956564819967") // 2^255 − 1, × 1e-38
)

func init() {
	pow10[0] = big.NewInt(1)
	for i := 1; i < len(pow10); i++ {
		pow10[i] = new(big.Int).Mul(pow10[i-1], big.NewInt(10))
	}
}

func mustInt(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic("not an integer: " + s)
	}
	return n
}

// simpleDecimal says that b is plain digits with an optional sign and point
// and certainly fits: the quick way for nearly every value.
func simpleDecimal(b []byte, intDigits int64) bool {
	i := 0
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		i++
	}
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	whole := i - start
	if whole == 0 || int64(whole) >= intDigits {
		return false
	}
	if i == len(b) {
		return true
	}
	if b[i] != '.' || i+1 == len(b) || len(b)-i > 40 {
		return false
	}
	for i++; i < len(b); i++ {
		if b[i] < '0' || b[i] > '9' {
			return false
		}
	}
	return true
}

// intDigits is how many digits before the point the column takes.
func (c *column) intDigits() int64 {
	switch {
	case c.precision > 0:
		return c.precision - c.scale
	case c.kind == kindNumeric:
		return 29
	}
	return 38 // one more fits in part: the slow way knows
}

// unscaled parses a number and rounds it, half away from zero or as the
// column's rounding mode says, to the column's scale. The result is the value × 10^scale of the type (9 or 38).
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-types#parameterized_decimal_type
func (c *column) unscaled(b []byte) (*big.Int, error) {
	digits, exponent, err := splitDecimal(b)
	if err != nil {
		return nil, err
	}
	scale, typeScale, limit := int64(numericScale), int64(numericScale), maxNumeric
	if c.kind == kindBigNumeric {
		scale, typeScale, limit = bigNumericScale, bigNumericScale, maxBigNumeric
	}
	if c.precision > 0 {
		scale = c.scale
	}
	n := rescale(digits, exponent+scale, c.halfEven())
	if n == nil {
		return nil, errDecimalRange
	}
	if c.precision > 0 && len(new(big.Int).Abs(n).String()) > int(c.precision) && n.Sign() != 0 {
		return nil, errDecimalRange
	}
	n.Mul(n, pow10[typeScale-scale])
	if n.CmpAbs(limit) > 0 && !isMinBigNumeric(c.kind, n) {
		return nil, errDecimalRange
	}
	return n, nil
}

func isMinBigNumeric(k kind, n *big.Int) bool {
	return k == kindBigNumeric && n.Sign() < 0 && n.BitLen() == 256 && n.TrailingZeroBits() == 255
}

// splitDecimal reads [sign]digits[.digits][e[sign]digits] as digits × 10^exponent.
func splitDecimal(b []byte) (*big.Int, int64, error) {
	if len(b) > maxDecimalBytes {
		return nil, 0, errDecimalText
	}
	s := string(b)
	mantissa, exponent := s, int64(0)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(s[i+1:], 10, 32)
		if err != nil {
			return nil, 0, errDecimalText
		}
		mantissa, exponent = s[:i], e
	}
	sign := ""
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		sign, mantissa = mantissa[:1], mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return nil, 0, errDecimalText
	}
	n := mustInt(digits)
	if sign == "-" {
		n.Neg(n)
	}
	return n, exponent - int64(len(fraction)), nil
}

// halfEven says whether the column rounds to even.
//
// https://docs.cloud.google.com/bigquery/docs/schemas#rounding_mode
func (c *column) halfEven() bool {
	return c.field != nil && c.field.RoundingMode == "ROUND_HALF_EVEN"
}

// rescale returns n × 10^shift, rounded half away from zero or half to even,
// or nil when the result is far out of every range.
func rescale(n *big.Int, shift int64, even bool) *big.Int {
	switch {
	case n.Sign() == 0:
		return new(big.Int)
	case shift >= 0:
		if shift > 2*bigNumericScale+2 {
			return nil
		}
		out := new(big.Int).Set(n)
		for ; shift > bigNumericScale; shift -= bigNumericScale {
			out.Mul(out, pow10[bigNumericScale])
		}
		return out.Mul(out, pow10[shift])
	case -shift > maxDecimalBytes+bigNumericScale:
		return new(big.Int)
	}
	divisor := new(big.Int).Exp(big.NewInt(10), big.NewInt(-shift), nil)
	quotient, rest := new(big.Int).QuoRem(n, divisor, new(big.Int))
	half := rest.Abs(rest).Lsh(rest, 1).Cmp(divisor)
	if half > 0 || half == 0 && !(even && quotient.Bit(0) == 0) {
		quotient.Add(quotient, big.NewInt(int64(n.Sign())))
	}
	return quotient
}

// decimalText writes a value × 10^scale without trailing zeros.
func decimalText(n *big.Int, scale int) string {
	digits := new(big.Int).Abs(n).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	whole, fraction := digits[:len(digits)-scale], strings.TrimRight(digits[len(digits)-scale:], "0")
	if fraction != "" {
		whole += "." + fraction
	}
	if n.Sign() < 0 {
		whole = "-" + whole
	}
	return whole
}

func (c *column) decimalScale() int {
	if c.kind == kindBigNumeric {
		return bigNumericScale
	}
	return numericScale
}

// packedDecimal reads BigDecimalByteStringEncoder's form: the value × 10^scale
// as little-endian two's complement.
func (c *column) packedDecimal(b []byte) (*big.Int, error) {
	if len(b) == 0 || len(b) > 32 || (c.kind == kindNumeric && len(b) > 16) {
		return nil, errDecimalRange
	}
	be := make([]byte, len(b))
	for i, x := range b {
		be[len(b)-1-i] = x
	}
	n := new(big.Int).SetBytes(be)
	if be[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return c.unscaled([]byte(decimalText(n, c.decimalScale())))
}

package schema

// Arrays are JSON arrays on the wire, nested as their dimensions are. The rules
// of array_out, by which both directions go, are those of
// https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO: an element is
// quoted if it is empty, is NULL in any case, or holds braces, the delimiter,
// quotes, backslashes or white space; inside quotes `"` and `\` are escaped by
// `\`. Array text that isn't exactly what these rules produce (bounds such as
// [0:1]={a,b}) is a JSON string of that text.

// maxDims is the most dimensions that an array of Postgres has (MAXDIM).
const maxDims = 6

// shapeCheck finds arrays that aren't rectangular.
type shapeCheck struct {
	leaf  int              // the depth of the elements, 0 until one is seen
	sizes [maxDims + 1]int // the size of each depth, 0 until known
}

// element reports whether an element, or a deeper array, may stand at depth.
func (c *shapeCheck) element(depth int, nested bool) bool {
	if nested {
		return depth < maxDims && (c.leaf == 0 || depth < c.leaf)
	}
	if c.leaf == 0 {
		c.leaf = depth
	}
	return c.leaf == depth
}

// end reports whether an array of n elements may end at depth.
func (c *shapeCheck) end(depth, n int) bool {
	if c.sizes[depth] == 0 {
		c.sizes[depth] = n
	}
	return n > 0 && c.sizes[depth] == n
}

func needsQuotes(element []byte, delim byte) bool {
	for _, c := range element {
		if c == delim || arraySpecial[c] {
			return true
		}
	}
	return len(element) == 0 || isNullWord(element)
}

// arraySpecial marks the bytes that array_out quotes, besides the delimiter.
var arraySpecial = [256]bool{
	'"': true, '\\': true, '{': true, '}': true,
	' ': true, '\t': true, '\n': true, '\r': true, '\v': true, '\f': true,
}

func isNullWord(b []byte) bool {
	return len(b) == 4 && b[0]|0x20 == 'n' && b[1]|0x20 == 'u' && b[2]|0x20 == 'l' && b[3]|0x20 == 'l'
}

// appendElement appends one element as array_out writes it.
func appendElement(dst, element []byte, delim byte) []byte {
	if !needsQuotes(element, delim) {
		return append(dst, element...)
	}
	dst = append(dst, '"')
	for _, c := range element {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

package schema

// interner returns the same string for the same bytes, so that attributes that
// repeat cost no allocation. It forgets everything when it is full.
type interner struct{ known map[string]string }

const maxInterned = 4096 // strings, each at most maxAttributeBytes long

func (n *interner) string(b []byte) string {
	if s, ok := n.known[string(b)]; ok {
		return s
	}
	if n.known == nil || len(n.known) >= maxInterned {
		n.known = make(map[string]string)
	}
	s := string(b)
	n.known[s] = s
	return s
}

package schema

// Kept returns how much the Decoder keeps.
func (d *Decoder) Kept() (shapes, tables, strings, signatureBytes int) {
	return len(d.shapes.shapes), len(d.shapes.tables), len(d.strings.known), d.shapes.bytes
}

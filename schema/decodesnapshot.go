package schema

import "bytes"

// snapshots keeps the Snapshot blocks of a message. Its rows have mostly the
// same one, which is then parsed once.
type snapshots struct {
	blocks []Snapshot
	raw    []byte // the text of the last block
	plan   string // of the last message, so that it costs no allocation
}

// maxKeptBlocks is what is kept for the next message.
const maxKeptBlocks = 1024

func (p *snapshots) reset() {
	p.blocks, p.raw = p.blocks[:0], nil
	if cap(p.blocks) > maxKeptBlocks {
		p.blocks = nil
	}
}

// parseSnapshot reads cdc.snapshot; all its fields must be there.
func (d *Decoder) parseSnapshot() error {
	s, p := &d.scan, &d.plans
	if err := d.line.set(fSnapshot); err != nil {
		return err
	}
	if n := len(p.blocks); n > 0 && len(p.raw) > 0 && bytes.HasPrefix(s.data[s.pos:], p.raw) {
		s.pos += len(p.raw)
		d.line.snapshot = &p.blocks[n-1]
		return nil
	}
	if err := s.open('{'); err != nil {
		return err
	}
	from := s.pos - 1
	var b Snapshot
	seen := 0
	for n := 0; ; n++ {
		name, ok, err := s.member(n)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		bit, err := p.field(&b, s, string(s.text(name)))
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return ErrDuplicate
		}
		seen |= bit
	}
	if seen != 1<<7-1 {
		return fieldError(fSnapshot)
	}
	p.blocks = append(p.blocks, b)
	p.raw = s.data[from:s.pos]
	d.line.snapshot = &p.blocks[len(p.blocks)-1]
	return nil
}

// field reads one field of the block and returns its bit.
func (p *snapshots) field(b *Snapshot, s *scanner, name string) (bit int, err error) {
	t, err := s.value(3)
	if err != nil {
		return 0, err
	}
	text, ok := s.text(t), true
	str := t.kind == jsonString
	var n int64
	switch name {
	case "plan":
		bit, ok = 1, str && len(text) <= len(`\u0000`)*MaxPlanBytes // escaped
		if ok {
			p.setPlan(text, t.escaped)
			b.Plan = p.plan
		}
	case "chunk":
		n, ok = parseInt32(t, text)
		bit, b.Chunk = 2, int32(n)
	case "attempt":
		b.Attempt, ok = parseInt(text)
		bit, ok = 4, ok && t.kind == jsonInteger
	case "part":
		n, ok = parseInt32(t, text)
		bit, b.Part = 8, int32(n)
	case "parts":
		n, ok = parseInt32(t, text)
		bit, b.Parts = 16, int32(n)
	case "floor":
		b.Floor, err = ParsePosition(text)
		bit, ok = 32, str && err == nil
	case "as_of":
		b.AsOf, err = ParseMicros(text)
		bit, ok = 64, str && err == nil
	default:
		return 0, ErrUnknown
	}
	if !ok {
		return 0, fieldError(fSnapshot)
	}
	return bit, nil
}

func (p *snapshots) setPlan(text []byte, escaped bool) {
	if escaped {
		text = appendUnescaped(nil, text)
	}
	if p.plan != string(text) {
		p.plan = string(text)
	}
}

// parseInt32 reads an integer from 0 to the highest int32.
func parseInt32(t token, text []byte) (int64, bool) {
	n, ok := parseInt(text)
	return n, ok && t.kind == jsonInteger && n >= 0 && n <= 1<<31-1
}

package schema

// array returns the Value of a JSON array, or of a JSON string that holds the
// text of an array.
func (v *values) array(c codec, s *scanner, t token) (Value, error) {
	start := len(v.text)
	switch t.kind {
	case jsonString:
		raw := s.text(t)
		if t.escaped {
			v.text = appendUnescaped(v.text, raw)
			raw = v.text[start:len(v.text):len(v.text)]
		}
		if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
			return Value{}, ErrValue
		}
		return Value{Text, raw}, nil
	case jsonArray:
		in := scanner{data: s.data[:t.end], pos: int(t.start)}
		var check shapeCheck
		if err := v.level(c, &in, &check, 1); err != nil {
			return Value{}, err
		}
		return Value{Text, v.text[start:len(v.text):len(v.text)]}, nil
	default:
		return Value{}, ErrValue
	}
}

func (v *values) level(c codec, s *scanner, check *shapeCheck, depth int) error {
	if err := s.open('['); err != nil {
		return err
	}
	v.text = append(v.text, '{')
	for n := 0; ; n++ {
		ok, err := s.more(n, ']')
		if err != nil {
			return err
		}
		if !ok {
			v.text = append(v.text, '}')
			if !check.end(depth, n) && (n > 0 || depth > 1) {
				return ErrValue
			}
			return nil
		}
		if n > 0 {
			v.text = append(v.text, c.delim)
		}
		nested := s.peek() == '['
		if !check.element(depth, nested) {
			return ErrValue
		}
		if nested {
			err = v.level(c, s, check, depth+1)
		} else {
			err = v.element(c, s)
		}
		if err != nil {
			return err
		}
	}
}

func (v *values) element(c codec, s *scanner) error {
	t, err := s.value(0)
	if err != nil {
		return err
	}
	if t.kind == jsonNull {
		v.text = append(v.text, "NULL"...)
		return nil
	}
	text, scratch, err := appendScalarText(v.scratch[:0], c.kind, s, t)
	v.scratch = scratch
	if err != nil {
		return err
	}
	v.text = appendElement(v.text, text, c.delim)
	return nil
}

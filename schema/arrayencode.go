package schema

// arrayText reads the output of array_out.
type arrayText struct {
	codec
	text  []byte
	pos   int
	check shapeCheck
}

// appendArray appends text as a JSON array. It returns false, with dst as it
// was, if text isn't exactly what array_out makes of that array.
func (e *Encoder) appendArray(dst []byte, c codec, text []byte) (_ []byte, ok bool, err error) {
	if string(text) == "{}" {
		return append(dst, "[]"...), true, nil
	}
	a := arrayText{codec: c, text: text}
	out, ok, err := e.appendLevel(dst, &a, 1)
	if !ok || err != nil || a.pos != len(text) {
		return dst, false, err
	}
	return out, true, nil
}

func (e *Encoder) appendLevel(dst []byte, a *arrayText, depth int) (_ []byte, ok bool, err error) {
	if a.next() != '{' {
		return dst, false, nil
	}
	dst = append(dst, '[')
	for n := 1; ; n++ {
		nested := a.pos < len(a.text) && a.text[a.pos] == '{'
		if !a.check.element(depth, nested) {
			return dst, false, nil
		}
		if nested {
			dst, ok, err = e.appendLevel(dst, a, depth+1)
		} else {
			dst, ok, err = e.appendArrayElement(dst, a)
		}
		if !ok || err != nil {
			return dst, false, err
		}
		switch a.next() {
		case a.delim:
			dst = append(dst, ',')
		case '}':
			return append(dst, ']'), a.check.end(depth, n), nil
		default:
			return dst, false, nil
		}
	}
}

func (a *arrayText) next() byte {
	if a.pos == len(a.text) {
		return 0
	}
	a.pos++
	return a.text[a.pos-1]
}

func (e *Encoder) appendArrayElement(dst []byte, a *arrayText) (_ []byte, ok bool, err error) {
	var element []byte
	if a.pos < len(a.text) && a.text[a.pos] == '"' {
		if element, ok = e.quoted(a); !ok || !needsQuotes(element, a.delim) {
			return dst, false, nil
		}
	} else {
		start := a.pos
		for a.pos < len(a.text) && a.text[a.pos] != a.delim && a.text[a.pos] != '}' {
			a.pos++
		}
		element = a.text[start:a.pos]
		if string(element) == "NULL" {
			return append(dst, "null"...), true, nil
		}
		if needsQuotes(element, a.delim) {
			return dst, false, nil
		}
	}
	dst, err = e.appendScalar(dst, a.kind, element)
	return dst, err == nil, err
}

// quoted reads a quoted element and returns it without its escapes.
func (e *Encoder) quoted(a *arrayText) (element []byte, ok bool) {
	a.pos++
	e.element = e.element[:0]
	for a.pos < len(a.text) {
		switch c := a.next(); c {
		case '"':
			return e.element, true
		case '\\':
			if c = a.next(); c != '"' && c != '\\' {
				return nil, false
			}
			e.element = append(e.element, c)
		default:
			e.element = append(e.element, c)
		}
	}
	return nil, false
}

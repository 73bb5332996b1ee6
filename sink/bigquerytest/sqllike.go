package bigquerytest

// like is column LIKE pattern: % stands for any characters, _ for one, \ makes
// the next one plain.
func (c *compiler) like(x *expr) (compiled, *restError) {
	left, e := c.compile(x.args[0])
	if e != nil {
		return compiled{}, e
	}
	pattern, e := c.compile(x.args[1])
	if e != nil {
		return compiled{}, e
	}
	if left.column.kind != kindString || left.column.repeated || pattern.column.kind != kindString || pattern.literal == nil {
		return compiled{}, sqlInvalid(ruleSQL, "LIKE is known for a STRING and a constant pattern only")
	}
	text, _ := pattern.eval(nil).(string)
	wanted, ok := likePattern(text)
	if !ok {
		return compiled{}, sqlInvalid(ruleSQL, "LIKE pattern ends with a backslash which is not escaped")
	}
	return boolean(func(row []any) any {
		s, ok := left.eval(row).(string)
		if !ok {
			return nil
		}
		return boolText(wanted.match([]rune(s)))
	}), nil
}

type likeRune struct {
	r        rune
	any, one bool // % and _
}

type likeRunes []likeRune

func likePattern(text string) (likeRunes, bool) {
	var out likeRunes
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			out, escaped = append(out, likeRune{r: r}), false
		case r == '\\':
			escaped = true
		default:
			out = append(out, likeRune{r: r, any: r == '%', one: r == '_'})
		}
	}
	return out, !escaped
}

// match goes back to the last % only, so it takes len(p)·len(s) steps at most.
func (p likeRunes) match(s []rune) bool {
	at, star, mark := 0, -1, 0
	for i := 0; i < len(s); {
		switch {
		case at < len(p) && p[at].any:
			star, mark = at, i
			at++
		case at < len(p) && (p[at].one || p[at].r == s[i]):
			at, i = at+1, i+1
		case star >= 0:
			mark++
			at, i = star+1, mark
		default:
			return false
		}
	}
	for at < len(p) && p[at].any {
		at++
	}
	return at == len(p)
}

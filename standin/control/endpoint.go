package control

import (
	"errors"
	"strings"
)

// Endpoint is one thing that can be asked.
type Endpoint struct {
	Method, Path string
	// Text says in one line what it does.
	Text string
	// Example is a request's body, for the list of endpoints; empty for those
	// that take none.
	Example string
	// Do answers a request. What it returns is written as JSON; its error's text
	// is the refusal.
	Do func(body []byte) (any, error)
}

func (e Endpoint) name() string { return e.Method + " " + e.Path }

// Bare is an endpoint that takes no body.
func Bare(method, path, text string, do func() (any, error)) Endpoint {
	return Endpoint{Method: method, Path: path, Text: text, Do: func(body []byte) (any, error) {
		if len(strings.TrimSpace(string(body))) > 0 {
			return nil, errors.New(method + " " + path + " takes no body")
		}
		return do()
	}}
}

// Taking is an endpoint that takes a T, which is a struct, as its body.
func Taking[T any](method, path, text, example string, do func(T) (any, error)) Endpoint {
	return Endpoint{Method: method, Path: path, Text: text, Example: example, Do: func(body []byte) (any, error) {
		var t T
		if err := Decode(body, &t); err != nil {
			return nil, err
		}
		return do(t)
	}}
}

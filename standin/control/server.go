package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxBodyBytes   = 64 << 10
	maxHeaderBytes = 64 << 10
	requestLimit   = 10 * time.Second // until a request has come in whole
)

// Server serves the endpoints of one stand-in.
type Server struct {
	title     string
	endpoints []Endpoint
	listener  net.Listener
	http      *http.Server
	running   sync.WaitGroup

	// serving is held for reading by each request, so that Close waits for it.
	serving sync.RWMutex
	closed  bool
}

// Listen serves the endpoints on a loopback address ("127.0.0.1:0" takes a free
// port) and refuses any other. title says whose endpoints these are.
func Listen(addr, title string, endpoints []Endpoint) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("read control address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("control address %q is not on the loopback interface (127.0.0.1:PORT): whoever reaches it may do everything", addr)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for control: %w", err)
	}
	s := &Server{title: title, endpoints: endpoints, listener: l}
	s.http = &http.Server{
		Handler: s, ReadTimeout: requestLimit, MaxHeaderBytes: maxHeaderBytes, IdleTimeout: time.Minute,
	}
	s.running.Go(func() { _ = s.http.Serve(l) }) // it ends with Close
	return s, nil
}

// Addr is the host and port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends the server and waits for the requests that are being answered. It
// may be called on a nil Server, which was never asked for.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	err := s.http.Close()
	s.serving.Lock()
	s.closed = true
	s.serving.Unlock()
	s.running.Wait()
	return err
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serving.RLock()
	defer s.serving.RUnlock()
	if s.closed {
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == "/help" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.help()) // whoever asked may have gone
		return
	}
	status, answer := s.answer(w, r)
	text, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error": "the answer can't be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) (status int, answer any) {
	refuse := func(status int, format string, args ...any) (int, any) {
		return status, map[string]string{"error": fmt.Sprintf(format, args...)}
	}
	if r.URL.Path == "/" && r.Method == http.MethodGet {
		return http.StatusOK, s.list()
	}
	var allowed []string
	for _, e := range s.endpoints {
		if e.Path != r.URL.Path {
			continue
		}
		allowed = append(allowed, e.Method)
		if e.Method != r.Method {
			continue
		}
		if r.URL.RawQuery != "" {
			return refuse(http.StatusBadRequest, "%s takes no query", e.name())
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return refuse(http.StatusRequestEntityTooLarge, "the body is over %d bytes", maxBodyBytes)
		}
		if err != nil {
			return refuse(http.StatusBadRequest, "read the body: %v", err)
		}
		answer, err := e.Do(body)
		if err != nil {
			return refuse(http.StatusBadRequest, "%v", err)
		}
		return http.StatusOK, answer
	}
	if allowed != nil {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return refuse(http.StatusMethodNotAllowed, "%s takes %s, not %q", r.URL.Path, strings.Join(allowed, " or "), r.Method)
	}
	return refuse(http.StatusNotFound, "there is no %q; GET / lists what there is", r.URL.Path)
}

// listed is an endpoint in the answer to GET /.
type listed struct {
	Endpoint string `json:"endpoint"`
	Text     string `json:"text"`
	Curl     string `json:"curl"`
}

func (s *Server) list() any {
	var out []listed
	for _, e := range s.endpoints {
		out = append(out, listed{e.name(), e.Text, s.curl(e)})
	}
	return map[string]any{"service": s.title, "help": "the same as text: curl -s http://" + s.Addr() + "/help", "endpoints": out}
}

func (s *Server) curl(e Endpoint) string {
	words := []string{"curl", "-s", "http://" + s.Addr() + e.Path}
	if e.Method != http.MethodGet {
		words = slices.Insert(words, 2, "-X", e.Method)
	}
	if e.Example != "" {
		words = append(words, "-d", "'"+e.Example+"'")
	}
	return strings.Join(words, " ")
}

// help is the list for people: an example can be copied as it stands.
func (s *Server) help() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", s.title)
	for _, e := range s.endpoints {
		fmt.Fprintf(&out, "\n%s\n  %s\n  %s\n", e.name(), e.Text, s.curl(e))
	}
	return out.String()
}

package pubsubtest

import (
	"net"
	"sync"
)

// trackedListener knows its open connections, so that they can be cut.
type trackedListener struct {
	net.Listener
	mu    sync.Mutex
	conns map[*trackedConn]struct{}
}

type trackedConn struct {
	net.Conn
	listener *trackedListener
}

func (l *trackedListener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &trackedConn{Conn: inner, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		l.conns = map[*trackedConn]struct{}{}
	}
	l.conns[c] = struct{}{}
	return c, nil
}

// cut resets all open connections.
func (l *trackedListener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // RST, not FIN
		}
		_ = c.Conn.Close()
	}
}

func (c *trackedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// ResetConnections cuts every open connection at once, as a network does.
func (s *Server) ResetConnections() { s.listener.cut() }

package alone

import (
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names are what can be served.
var Names = []string{"pubsub", "bigquery", "postgres"}

// The ports that can be chosen, and their defaults: those of Google's Pub/Sub
// emulator and of the BigQuery emulator that most people know
// (github.com/goccy/bigquery-emulator), the control endpoints beside them.
var defaultPorts = map[string]int{
	"pubsub":           8085,
	"pubsub-control":   8086,
	"bigquery":         9050,
	"bigquery-control": 9051,
	"bigquery-storage": 9060,
}

// owner is which of Names has the port.
func owner(port string) string {
	name, _, _ := strings.Cut(port, "-")
	return name
}

// PortNames lists the ports with their defaults, as --help shows them.
func PortNames() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(defaultPorts)) {
		out = append(out, fmt.Sprintf("%s=%d", name, defaultPorts[name]))
	}
	return strings.Join(out, ", ")
}

// minEvery keeps a wrong interval from filling a disk.
const minEvery = 100 * time.Millisecond

// Options say what is served.
type Options struct {
	// Serve are some of Names.
	Serve []string
	// Ports overrides ports by their names; 0 takes any free one. Postgres
	// always takes any free one.
	Ports map[string]int
	// Every is the shortest time between two lines of counts.
	Every time.Duration
	// Out gets all that is printed.
	Out io.Writer
}

// Check refuses what can't be served.
func (o Options) Check() error {
	if len(o.Serve) == 0 {
		return fmt.Errorf("--only: want some of %s", strings.Join(Names, ","))
	}
	for _, name := range o.Serve {
		if !slices.Contains(Names, name) {
			return fmt.Errorf("--only %q: want some of %s", name, strings.Join(Names, ","))
		}
	}
	for name, port := range o.Ports {
		if _, ok := defaultPorts[name]; !ok {
			return fmt.Errorf("--ports %s=%d: there is no such port; there are %s", name, port, PortNames())
		}
		if port < 0 || port > 65_535 {
			return fmt.Errorf("--ports %s=%d: a port is 1–65535, or 0 for any free one", name, port)
		}
		if !slices.Contains(o.Serve, owner(name)) {
			return fmt.Errorf("--ports %s=%d: --only doesn't serve %s", name, port, owner(name))
		}
	}
	if err := o.checkDistinct(); err != nil {
		return err
	}
	if o.Every < minEvery {
		return fmt.Errorf("--every %s: want at least %s", o.Every, minEvery)
	}
	return nil
}

// checkDistinct refuses one port for two.
func (o Options) checkDistinct() error {
	taken := map[int]string{}
	for _, name := range slices.Sorted(maps.Keys(defaultPorts)) {
		port := o.port(name)
		if port == 0 || !slices.Contains(o.Serve, owner(name)) {
			continue
		}
		if other, ok := taken[port]; ok {
			return fmt.Errorf("--ports: port %d is for %s and for %s", port, other, name)
		}
		taken[port] = name
	}
	return nil
}

func (o Options) port(name string) int {
	if port, ok := o.Ports[name]; ok {
		return port
	}
	return defaultPorts[name]
}

// addr is where the named port listens.
func (o Options) addr(name string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port(name)))
}

package postgrestest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// settings of every server. Plenty of slots and walsenders, because one server often serves many subtests.
var settings = map[string]string{
	"listen_addresses":          "127.0.0.1",
	"unix_socket_directories":   "", // a socket's path may have 107 bytes at most; TCP is enough
	"wal_level":                 "logical",
	"max_wal_senders":           "50",
	"max_replication_slots":     "50",
	"max_connections":           "100",
	"max_prepared_transactions": "20",
	"shared_buffers":            "32MB",
	"min_wal_size":              "32MB", // two segments; the default keeps five
	"jit":                       "off",  // an unpacked package comes without LLVM
	"timezone":                  "UTC",
	"log_timezone":              "UTC",
	"log_line_prefix":           "%m [%p] %q%a ",
	"logging_collector":         "off",
}

func appendConfig(path string, o Options) error {
	all := maps.Clone(settings)
	if !o.Fsync {
		all["fsync"] = "off"
	}
	maps.Copy(all, o.Settings)
	var b strings.Builder
	b.WriteString("\n# postgrestest\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s = '%s'\n", name, strings.ReplaceAll(all[name], "'", "''"))
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("write the server's settings: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteString(b.String()); err != nil {
		return fmt.Errorf("write the server's settings: %w", err)
	}
	return f.Close()
}

// Ports below the range that kernels give to outgoing connections (Linux 32768, macOS 49152), so that none of those takes
// the port while the server is down between Kill and Restart. 5432 is not among them.
const (
	firstPort = 20_000
	lastPort  = 31_999
)

func freePort() (int, error) {
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if portIsFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port found between %d and %d", firstPort, lastPort)
}

func portIsFree(port int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

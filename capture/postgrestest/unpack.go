package postgrestest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

const unpackLimit = 5 * time.Minute

// unpackDistribution downloads the distribution's Postgres with apt and unpacks it into the cache. Nothing is installed and
// nothing of the system's is written: apt gets state, cache and configuration of our own, and only reads the system's sources, keys
// and the list of what is installed (libraries that are installed aren't downloaded again).
func unpackDistribution(ctx context.Context, acct account, progress func(string)) (Install, error) {
	for _, program := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return Install{}, fmt.Errorf("unpack the distribution's package (Debian, Ubuntu): %w", err)
		}
	}
	cache, err := cacheFolder(acct)
	if err != nil {
		return Install{}, err
	}
	return unpackInto(ctx, acct, cache, progress)
}

func unpackInto(ctx context.Context, acct account, cache string, progress func(string)) (Install, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, unpackLimit, fmt.Errorf("not done within %s", unpackLimit))
	defer cancel()
	dir, err := once(ctx, cache, "apt-"+distribution(), func(temp string) error {
		if progress != nil {
			progress("no Postgres on this machine: downloading the distribution's package into " + cache + " (once, 20 to 70 MB; nothing is installed)")
		}
		if err := aptUnpack(ctx, temp); err != nil {
			return err
		}
		_, err := unpacked(ctx, acct, temp) // only what works is kept
		return err
	})
	if err != nil {
		return Install{}, fmt.Errorf("unpack the distribution's package: %w", err)
	}
	in, err := unpacked(ctx, acct, dir)
	if err != nil {
		return Install{}, fmt.Errorf("use the unpacked package (delete %s to unpack it again): %w", dir, err)
	}
	return in, nil
}

// unpacked returns the newest server in the tree, with the folders of the libraries that came with it.
func unpacked(ctx context.Context, acct account, dir string) (Install, error) {
	root := filepath.Join(dir, "root")
	var libs []string
	for _, glob := range []string{"usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"} {
		found, _ := filepath.Glob(filepath.Join(root, glob)) // its only error is a malformed pattern
		libs = append(libs, found...)
	}
	bins, _ := filepath.Glob(filepath.Join(root, "usr/lib/postgresql/*/bin"))
	var best Install
	var rejected []error
	for _, bin := range bins {
		in, err := probe(ctx, acct, Install{Bin: bin, libs: libs})
		if err != nil {
			rejected = append(rejected, err)
		} else if best.Bin == "" || in.newer(best) {
			best = in
		}
	}
	if best.Bin == "" {
		return Install{}, errors.Join(append([]error{fmt.Errorf("no usable server below %s", root)}, rejected...)...)
	}
	// Debian's server has this path compiled in, so it can't come out of our tree.
	if _, err := os.Stat("/usr/share/zoneinfo/UTC"); err != nil {
		return Install{}, fmt.Errorf("the distribution's server needs the package tzdata: %w", err)
	}
	return best, nil
}

// distribution names what the unpacked tree fits, for example debian-12-amd64.
func distribution() string {
	id, version := "linux", "0"
	if f, err := os.Open("/etc/os-release"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), "=")
			value = strings.Trim(value, `"'`)
			switch name {
			case "ID":
				id = value
			case "VERSION_ID":
				version = value
			}
		}
	}
	return filepath.Base(fmt.Sprintf("%s-%s-%s", id, version, runtime.GOARCH))
}

// aptConfig is read after the system's configuration. The hooks would talk to the desktop or need root; the other index
// files are large and tell us nothing.
const aptConfig = `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear Acquire::Languages;
Acquire::Languages "none";
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons-large;
#clear Acquire::IndexTargets::deb::DEP-11-icons-hidpi;
#clear Acquire::IndexTargets::deb::DEP-11-icons-large-hidpi;
#clear Acquire::IndexTargets::deb::CNF;
#clear Acquire::IndexTargets::deb::Contents-deb;
#clear Acquire::IndexTargets::deb-src::Sources;
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Dir::State "%[1]s/state";
Dir::State::status "%[1]s/state/status";
Dir::Cache "%[1]s/cache";
`

// dpkgStatus is the list of installed packages. apt gets a copy, because it locks the folder that holds it.
const dpkgStatus = "/var/lib/dpkg/status"

func aptUnpack(ctx context.Context, dir string) error {
	apt := filepath.Join(dir, "apt")
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(apt, sub), 0o755); err != nil {
			return err
		}
	}
	status, err := os.ReadFile(dpkgStatus)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(apt, "state/status"), status, 0o644); err != nil {
		return err
	}
	config := filepath.Join(apt, "apt.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, aptConfig, apt), 0o644); err != nil {
		return err
	}
	// update also succeeds when it could fetch nothing, so what it said belongs to every later error.
	said, err := run(ctx, "apt-get", "-c", config, "-q", "-y", "update")
	if err != nil {
		return err
	}
	server, err := serverPackage(ctx, config)
	if err != nil {
		return fmt.Errorf("%w\napt-get update said:\n%s", err, said)
	}
	// --reinstall: it is downloaded even where it is installed (and wasn't usable).
	more, err := run(ctx, "apt-get", "-c", config, "-q", "-y", "install", "--no-install-recommends", "--reinstall", "--download-only", server)
	if err != nil {
		return fmt.Errorf("%w\napt-get update said:\n%s", err, said)
	}
	debs, _ := filepath.Glob(filepath.Join(apt, "cache/archives/*.deb")) // its only error is a malformed pattern
	if !slices.ContainsFunc(debs, func(deb string) bool { return strings.HasPrefix(filepath.Base(deb), server+"_") }) {
		// Without a network, --reinstall of an installed package is no error.
		return fmt.Errorf("apt-get downloaded no %s, it said:\n%s\n%s", server, said, more)
	}
	for _, deb := range debs {
		if !wanted(filepath.Base(deb), server) {
			continue
		}
		if _, err := run(ctx, "dpkg-deb", "-x", deb, filepath.Join(dir, "root")); err != nil {
			return err
		}
	}
	return os.RemoveAll(apt)
}

// dependsLine is a line of apt-cache depends: the package postgresql depends on the release's server, say postgresql-15.
var dependsLine = regexp.MustCompile(`(?m)^\s*Depends: (postgresql-\d+)$`)

func serverPackage(ctx context.Context, config string) (string, error) {
	out, err := run(ctx, "apt-cache", "-c", config, "depends", "postgresql")
	if err != nil {
		return "", err
	}
	m := dependsLine.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("apt-cache names no server package: %s", out)
	}
	return m[1], nil
}

// wanted says which of the downloaded packages are unpacked: the server, and libraries. Not LLVM (100 MB for jit, which is
// off), not the C library (it must fit the system's loader), not what only an installed cluster needs (locales, perl, certificates).
func wanted(deb, server string) bool {
	name, _, _ := strings.Cut(deb, "_")
	if name == server {
		return true
	}
	return strings.HasPrefix(name, "lib") && !slices.ContainsFunc(
		[]string{"libllvm", "libc6", "libc-", "libperl"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) },
	) && !strings.HasSuffix(name, "-perl") && !strings.HasSuffix(name, "-dev")
}

// run runs a program of the system as the current user and returns what it printed.
func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive") // the rest for its proxies
	cmd.WaitDelay = 5 * time.Second                                              // apt's download methods may hold the output open
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return text, fmt.Errorf("run %s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return text, nil
}

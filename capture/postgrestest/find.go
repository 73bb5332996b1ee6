package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// EnvBin names the environment variable with the folder that holds the wanted postgres and initdb.
const EnvBin = "CDC_POSTGRES_BIN"

// minMajor is the oldest Postgres that cdc captures from.
const minMajor = 15

// An Install is a set of Postgres programs on this machine.
type Install struct {
	Bin     string // folder of postgres and initdb, links resolved
	Version string // as postgres --version gives it, for example 15.18
	Major   int    // for example 15

	libs []string // folders for LD_LIBRARY_PATH: an unpacked package brings libraries of its own
}

func (in Install) program(name string) string { return filepath.Join(in.Bin, name) }

// Find looks for a Postgres in the order that the package comment gives. The last step may download: some 15 s, bounded by ctx.
// The error is an [*Error].
func Find(ctx context.Context) (Install, error) { return findTelling(ctx, nil) }

// findTelling tells progress, unless it is nil, about what takes long.
func findTelling(ctx context.Context, progress func(string)) (Install, error) {
	f := finder{
		account:  serverAccount(),
		env:      os.Getenv(EnvBin),
		lookPath: exec.LookPath,
		globs: [][]string{
			{"/usr/lib/postgresql/*/bin"},
			{
				"/opt/homebrew/opt/postgresql@*/bin", "/opt/homebrew/opt/postgresql/bin",
				"/usr/local/opt/postgresql@*/bin", "/usr/local/opt/postgresql/bin",
				"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin", "/home/linuxbrew/.linuxbrew/opt/postgresql/bin",
			},
		},
		unpack: func(ctx context.Context, acct account) (Install, error) {
			return unpackDistribution(ctx, acct, progress)
		},
	}
	return f.find(ctx)
}

// remembered is what this process found, or why it found nothing: without a network each look takes seconds, and a test binary
// looks once for every server.
var remembered struct {
	sync.Mutex
	places string // the environment that was looked at
	in     Install
	err    error
}

func findOnce(ctx context.Context, progress func(string)) (Install, error) {
	r := &remembered
	r.Lock()
	defer r.Unlock()
	places := strings.Join([]string{os.Getenv(EnvBin), os.Getenv("PATH"), os.Getenv(EnvCache)}, "\n")
	if r.places == places {
		return r.in, r.err
	}
	in, err := findTelling(ctx, progress)
	if err == nil || ctx.Err() == nil {
		r.places, r.in, r.err = places, in, err
	}
	return in, err
}

// finder holds the places, so that tests can name others.
type finder struct {
	account  account
	env      string
	lookPath func(string) (string, error)
	globs    [][]string // one list a step; within a step the highest version wins
	unpack   func(context.Context, account) (Install, error)
}

func (f finder) find(ctx context.Context) (Install, error) {
	if f.env != "" {
		in, err := f.probe(ctx, f.env)
		if err != nil {
			return Install{}, &Error{
				code: CodeBadBin,
				fix:  "Set " + EnvBin + " to a folder that holds postgres and initdb (for example /usr/lib/postgresql/17/bin), or unset it.",
				err:  fmt.Errorf("use %s=%s: %w", EnvBin, f.env, err),
			}
		}
		return in, nil
	}
	var rejected []error // what was there but can't be used; said when nothing else is found
	if path, err := f.lookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			in, err := f.probe(ctx, filepath.Dir(path))
			if err == nil {
				return in, nil
			}
			rejected = append(rejected, err)
		}
	}
	for _, globs := range f.globs {
		in, err := f.highest(ctx, globs)
		if err == nil {
			return in, nil
		}
		rejected = append(rejected, err)
	}
	in, err := f.unpack(ctx, f.account)
	if err == nil {
		return in, nil
	}
	all := errors.Join(append(rejected, err)...)
	command := installCommand()
	if _, apt := exec.LookPath("apt-get"); apt == nil && errors.Is(all, errTooOld) {
		command = newerCommand() // the distribution's own, once more, would be too old again
	}
	return Install{}, &Error{
		code: CodeNotFound,
		fix:  "Type: " + command + "\n(or set " + EnvBin + " to the folder that holds postgres and initdb)",
		err:  fmt.Errorf("find a Postgres %d or newer: %w", minMajor, all),
	}
}

// highest returns the newest usable installation among the folders; errNone when there is no folder.
func (f finder) highest(ctx context.Context, globs []string) (Install, error) {
	var best Install
	var rejected []error
	for _, glob := range globs {
		dirs, _ := filepath.Glob(glob) // its only error is a malformed pattern
		for _, dir := range dirs {
			in, err := f.probe(ctx, dir)
			if err != nil {
				rejected = append(rejected, err)
			} else if best.Bin == "" || in.newer(best) {
				best = in
			}
		}
	}
	if best.Bin != "" {
		return best, nil
	}
	if len(rejected) == 0 {
		return Install{}, fmt.Errorf("nothing in %s", strings.Join(globs, ", "))
	}
	return Install{}, errors.Join(rejected...)
}

// probe says whether the folder can be used: both programs, reachable for the account, recent enough.
func (f finder) probe(ctx context.Context, bin string) (Install, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return Install{}, err
	}
	if real, err := filepath.EvalSymlinks(bin); err == nil {
		bin = real
	}
	return probe(ctx, f.account, Install{Bin: bin})
}

func probe(ctx context.Context, acct account, in Install) (Install, error) {
	for _, name := range []string{"postgres", "initdb"} {
		info, err := os.Stat(in.program(name))
		if err != nil {
			return Install{}, err
		}
		if info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return Install{}, fmt.Errorf("%s is not a program", in.program(name))
		}
	}
	if !acct.canReach(in.Bin) {
		return Install{}, fmt.Errorf("uid %d, which would run the server, can't reach %s", acct.uid, in.Bin)
	}
	out, err := acct.command(ctx, "/", in.libs, in.program("postgres"), "--version").CombinedOutput()
	if err != nil {
		return Install{}, fmt.Errorf("run %s --version: %w: %s", in.program("postgres"), err, strings.TrimSpace(string(out)))
	}
	in.Version, in.Major, err = parseVersion(string(out))
	if err != nil {
		return Install{}, fmt.Errorf("%s: %w", in.program("postgres"), err)
	}
	if in.Major < minMajor {
		return Install{}, fmt.Errorf("%s is Postgres %s: %w", in.Bin, in.Version, errTooOld)
	}
	return in, nil
}

var errTooOld = fmt.Errorf("older than %d", minMajor)

// versionLine matches "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)" and "postgres (PostgreSQL) 19beta1".
var versionLine = regexp.MustCompile(`\(PostgreSQL\) ((\d+)[.0-9a-z]*)`)

func parseVersion(line string) (version string, major int, err error) {
	m := versionLine.FindStringSubmatch(line)
	if m == nil {
		return "", 0, fmt.Errorf("unknown version %q", strings.TrimSpace(line))
	}
	major, err = strconv.Atoi(m[2])
	if err != nil {
		return "", 0, fmt.Errorf("unknown version %q: %w", m[1], err)
	}
	return m[1], major, nil
}

// newer compares number by number: 9 is older than 15, 15.9 older than 15.10.
func (in Install) newer(other Install) bool {
	return slices.Compare(versionNumbers(in.Version), versionNumbers(other.Version)) > 0
}

func versionNumbers(version string) []int {
	var numbers []int
	for part := range strings.FieldsFuncSeq(version, func(r rune) bool { return r < '0' || r > '9' }) {
		n, _ := strconv.Atoi(part) // digits only; one that is too large stays at the limit
		numbers = append(numbers, n)
	}
	return numbers
}

// newerCommand is for a Debian or Ubuntu whose own Postgres is too old (Debian 11, Ubuntu 22.04): the packages of
// https://wiki.postgresql.org/wiki/Apt.
func newerCommand() string {
	return strings.ReplaceAll("SUDOapt-get update && SUDOapt-get install -y postgresql-common && "+
		"SUDO/usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y && SUDOapt-get install -y postgresql-17", "SUDO", sudo())
}

func sudo() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return "sudo "
}

// installCommand returns the one command that brings a server to this machine.
func installCommand() string {
	sudo := sudo()
	for _, manager := range []struct{ program, command string }{
		{"apt-get", sudo + "apt-get update && " + sudo + "apt-get install -y postgresql"},
		{"dnf", sudo + "dnf install -y postgresql-server postgresql-contrib"},
		{"apk", sudo + "apk add postgresql postgresql-contrib"},
		{"pacman", sudo + "pacman -S --noconfirm postgresql"},
		{"zypper", sudo + "zypper install -y postgresql-server postgresql-contrib"},
		{"brew", "brew install postgresql@17"},
	} {
		if _, err := exec.LookPath(manager.program); err == nil {
			return manager.command
		}
	}
	if runtime.GOOS == "darwin" {
		return "brew install postgresql@17"
	}
	return "export " + EnvBin + "=FOLDER, after installing Postgres (https://www.postgresql.org/download/)"
}

func joinPath(dirs []string) string { return strings.Join(dirs, string(os.PathListSeparator)) }

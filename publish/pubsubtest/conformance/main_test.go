package conformance

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// optional is a flag that may have a value: -emulator or -emulator=JAR.
type optional struct {
	set   bool
	value string
}

func (o *optional) String() string   { return o.value }
func (o *optional) IsBoolFlag() bool { return true }

func (o *optional) Set(value string) error {
	o.set = value != "false"
	if value != "true" && o.set {
		o.value = value
	}
	return nil
}

var (
	emulatorFlag optional
	projectFlag  = flag.String("project", "", "run against the real service in this project, and nothing else")
	endpointFlag = flag.String("endpoint", "", "host:port of the real service; empty is the global one")
	updateFlag   = flag.Bool("update", false, "write testdata/differences.json for what is run")
	childFlag    = flag.String("child", "", "SERVER/CASE: run this case and print its outcome (used by the suite itself)")
)

func init() {
	flag.Var(&emulatorFlag, "emulator", "run against Google's emulator instead; a value is the path of its jar")
}

// atOnce is how many cases run at a time: they wait far more than they work. More
// make the emulator late.
const atOnce = "40"

// tries is how often a case may run on another server than pubsubtest: on a machine
// that is busy with other things leases run out early, or a message comes late.
const tries = 3

func TestMain(m *testing.M) {
	flag.Parse()
	switch *childFlag {
	case "":
	case holdChild:
		os.Exit(runHold())
	default:
		os.Exit(runChild(*childFlag))
	}
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// targets are the servers that the flags choose.
func targets() []target {
	switch {
	case *projectFlag != "":
		return []target{serviceTarget()}
	case emulatorFlag.set:
		return []target{emulatorTarget()}
	}
	return []target{standInTarget(), pstestTarget()}
}

// TestConformance runs every case on every chosen server and compares what isn't
// as the documents say with testdata/differences.json.
func TestConformance(t *testing.T) {
	golden, err := readDifferences(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	result := &results{golden: golden}
	t.Cleanup(func() {
		if *updateFlag {
			if err := writeDifferences(goldenFile, result.updated()); err != nil {
				t.Error(err)
			}
		}
	})
	for _, target := range targets() {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			runTarget(t, target, result)
			// The subtests are parallel: they run after this function and before its clean-up.
			t.Cleanup(func() {
				cases, differences := result.count(target.name)
				fmt.Printf("conformance: %-10s %3d cases, %3d differences, %.1f s\n", target.name, cases, differences, time.Since(start).Seconds())
			})
		})
	}
}

func runTarget(t *testing.T, target target, result *results) {
	start := target.begin(t)
	for _, c := range cases() {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			if complaint := result.run(t, target, start, c); complaint != "" {
				t.Error(complaint)
			}
		})
	}
}

// run runs a case until its outcome is the known one or the same twice, and says
// what is wrong with it.
func (r *results) run(t *testing.T, target target, start startServer, c testCase) string {
	var last string
	for try := range target.tries {
		got := outcomeOf(t, target, start, c)
		if got == last && try > 0 || complaint(r.golden, c, target.name, got, false) == "" || target.tries == 1 {
			return r.judge(c, target.name, got)
		}
		last = got
	}
	return fmt.Sprintf("the outcome changes from try to try; last %s\n want %s", last, c.want)
}

// outcomeOf runs a case, in a child process if it would end this one.
func outcomeOf(t *testing.T, target target, start startServer, c testCase) string {
	if target.name == "pstest" && c.endsPstest {
		return inChild(t, target.name, c)
	}
	srv, stop := start()
	defer stop()
	return c.outcome(t.Context(), srv)
}

// results gathers the outcomes of a run.
type results struct {
	golden []difference

	mu  sync.Mutex
	ran []ranCase
}

type ranCase struct {
	c           testCase
	server, got string
}

// judge takes an outcome and says what is wrong with it; "" when nothing is.
func (r *results) judge(c testCase, server, got string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, ranCase{c, server, got})
	return complaint(r.golden, c, server, got, *updateFlag)
}

func (r *results) count(server string) (cases, differences int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ran := range r.ran {
		if ran.server == server {
			cases++
			if ran.got != ran.c.want {
				differences++
			}
		}
	}
	return cases, differences
}

func (r *results) updated() []difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	return update(r.golden, r.ran)
}

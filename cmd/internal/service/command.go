package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cdc/cmd/internal/config"
)

// Program is what a service does. Main gives it a command line.
type Program struct {
	Service config.Service
	Short   string // one line for --help
	Long    string

	InitLong string // what init makes, for its --help

	// Emulators are the environment variables that choose a stand-in.
	Emulators []string
	// Health picks the service's own address.
	Health func(config.Health) string

	// Run does the service's work until ctx ends, then returns nil.
	Run func(ctx context.Context, cfg *config.Config, log *slog.Logger, ready *Readiness) error
	// Check does every preflight and changes nothing. The error joins what kept it
	// from looking; the findings are then not complete.
	Check func(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]Finding, error)
	// Init makes what is missing and returns what it did, one line each: nothing
	// the second time.
	Init func(ctx context.Context, cfg *config.Config, log *slog.Logger) (did []string, err error)

	// Signals replaces the process's signals, for tests.
	Signals <-chan os.Signal
	// StopLimit replaces StopLimit, for tests.
	StopLimit time.Duration
	// CheckLimit replaces checkLimit, for tests.
	CheckLimit time.Duration
}

// checkLimit bounds the command check: a server that doesn't answer is a finding.
const checkLimit = 30 * time.Second

// Finding is what a preflight found.
type Finding struct {
	Code    string // stable, snake_case
	Problem string
	Fix     string // what to do
	Warning bool   // run works with it
}

// Main runs the command line of p and returns the exit code.
func Main(ctx context.Context, p Program, args []string, stdout, stderr io.Writer) int {
	if p.StopLimit == 0 {
		p.StopLimit = StopLimit
	}
	if p.CheckLimit == 0 {
		p.CheckLimit = checkLimit
	}
	i := &invocation{Program: p, stdout: stdout, stderr: stderr, code: ExitDone}
	root := i.root()
	root.SetArgs(append([]string{}, args...)) // cobra takes nil for the process's own
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "%s: %v\nSee %s --help.\n", p.Service, err, p.Service)
		return ExitUsage
	}
	return i.code
}

// invocation is one call of the program. The commands leave their exit code in
// it; an error that cobra returns is wrong use.
type invocation struct {
	Program
	stdout, stderr io.Writer
	file           string
	configOnly     bool
	code           int
}

func (i *invocation) root() *cobra.Command {
	name := string(i.Service)
	root := &cobra.Command{
		Use:           name,
		Short:         i.Short,
		Long:          i.Long,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(*cobra.Command, []string) error { return errors.New("a command is missing: check, init or run") },
		Example:       fmt.Sprintf("  %[1]s check --config-only --config shop.yaml\n  %[1]s init --config shop.yaml\n  %[1]s run --config shop.yaml", name),
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().StringVar(&i.file, "config", "cdc.yaml", "configuration `FILE`; deploy/CONFIG.md describes it")

	run := &cobra.Command{
		Use:   "run",
		Short: "Run the service until SIGTERM or SIGINT",
		Long: "Run the service until SIGTERM or SIGINT. The log goes to stderr, as JSON in Cloud Logging's form.\n" +
			"SIGUSR1 switches between the configured log level and debug.",
		Example: fmt.Sprintf("  %[1]s run\n  %[1]s run --config /etc/cdc/shop.yaml", name),
	}
	check := &cobra.Command{
		Use:   "check",
		Short: "Do every check that run depends on, and say what to do about each finding",
		Long: "Do every check that run depends on, and say what to do about each finding. Nothing is changed.\n" +
			"A check that gets no answer within 30 s is a finding too.",
		Example: fmt.Sprintf("  %[1]s check --config shop.yaml\n  %[1]s check --config-only   # the file alone, without connecting", name),
	}
	check.Flags().BoolVar(&i.configOnly, "config-only", false, "check the file alone, without connecting to anything")
	initialise := &cobra.Command{
		Use:     "init",
		Short:   "Make what the service needs and isn't there; a second time changes nothing",
		Long:    i.InitLong,
		Example: fmt.Sprintf("  %[1]s init --config shop.yaml", name),
	}
	for cmd, do := range map[*cobra.Command]func(context.Context) int{run: i.run, check: i.check, initialise: i.init} {
		cmd.Args = noArgs
		cmd.RunE = func(cmd *cobra.Command, _ []string) error {
			i.code = do(cmd.Context())
			return nil
		}
		root.AddCommand(cmd)
	}
	return root
}

// noArgs refuses arguments; most often one is the file.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument %q: name the file with --config", cmd.Name(), args[0])
}

func (i *invocation) load() (*config.Config, error) { return config.Load(i.file, os.LookupEnv) }

// tell prints findings for a person.
func tell(w io.Writer, word string, err error) {
	for _, e := range split(err) {
		code, fix := explain(e)
		if _, ok := errors.AsType[config.Finding](e); ok {
			fmt.Fprintf(w, "%s: %v\n", word, e) // says code and fix itself
			continue
		}
		fmt.Fprintf(w, "%s: %s: %s; %s\n", word, code, oneLine(e), fix)
	}
}

// oneLine keeps a finding on one line; some libraries write a line for each address.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (i *invocation) check(ctx context.Context) int {
	cfg, err := i.load()
	if err != nil {
		tell(i.stdout, "error", err)
		return ExitUsage
	}
	if w := cfg.Warnings(i.file); w != nil {
		tell(i.stdout, "warning", w)
	}
	notYet := cfg.NotYet(i.Service, i.file)
	if i.configOnly {
		if notYet != nil {
			// The file is valid, with keys of a later version too; but whoever checks it wants to run.
			tell(i.stdout, "refused by init and run", notYet)
		}
		fmt.Fprintf(i.stdout, "%s: ok\n", i.file)
		return ExitDone
	}
	if err := notYet; err != nil {
		tell(i.stdout, "error", err)
		return ExitUsage
	}
	log := NewLogger(i.stderr, slog.LevelWarn, string(i.Service), cfg.Database)
	i.warnEmulators(log)
	ctx, cancel := context.WithTimeout(ctx, i.CheckLimit)
	defer cancel()
	findings, err := i.Check(ctx, cfg, log)
	if ctx.Err() != nil {
		err = late(err)
	}
	code := ExitDone
	for _, f := range findings {
		word := "warning"
		if !f.Warning {
			word, code = "error", ExitFailed
		}
		fmt.Fprintf(i.stdout, "%s: %s: %s; %s\n", word, f.Code, f.Problem, f.Fix)
	}
	if err != nil {
		tell(i.stdout, "error", err)
		code = ExitFailed
	}
	if code == ExitDone {
		fmt.Fprintf(i.stdout, "%s: ok\n", i.file)
	}
	return code
}

func (i *invocation) init(ctx context.Context) int {
	cfg, err := i.load()
	if err == nil {
		err = cfg.NotYet(i.Service, i.file)
	}
	if err != nil {
		tell(i.stdout, "error", err)
		return ExitUsage
	}
	log := NewLogger(i.stderr, parseLevel(cfg.Log.Level), string(i.Service), cfg.Database)
	i.warnEmulators(log)
	did, err := i.Init(ctx, cfg, log)
	for _, line := range did {
		fmt.Fprintf(i.stdout, "did: %s\n", line)
	}
	if err != nil {
		fmt.Fprintf(i.stdout, "%s: %s, not complete\n", i.file, changes(len(did)))
		tell(i.stdout, "error", err)
		return ExitFailed
	}
	fmt.Fprintf(i.stdout, "%s: %s\n", i.file, changes(len(did)))
	return ExitDone
}

func changes(n int) string {
	if n == 1 {
		return "1 change"
	}
	return fmt.Sprintf("%d changes", n)
}

func (i *invocation) warnEmulators(log *slog.Logger) {
	for _, name := range i.Emulators {
		if address := os.Getenv(name); address != "" {
			log.Warn(EventEmulator, "variable", name, "address", address)
		}
	}
}

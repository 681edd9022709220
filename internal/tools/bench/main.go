// Command bench measures what docs/BENCHMARKS.md promises and writes the table. Its exit code
// is 0 however slow things were; 1 if something could not be measured because it broke.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	baseline, err := bench.Baseline(ctx)
	if !baseline {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	if errors.Is(err, flag.ErrHelp) {
		err = nil
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	begun := time.Now()
	cfg := bench.Config{Progress: func(text string) {
		fmt.Fprintf(stderr, "bench: %6.1fs  %s\n", time.Since(begun).Seconds(), text)
	}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var only, out, version string
	flags.StringVar(&cfg.Bin, "bin", "bin", "folder of the programs")
	flags.StringVar(&cfg.Root, "root", "", "tree whose `make build` is timed with the demo")
	flags.StringVar(&out, "out", "", "file that gets the table as Markdown")
	flags.StringVar(&version, "version", "an unnamed version", "what is measured")
	flags.StringVar(&only, "only", "", "parts to run, with commas between: "+strings.Join(bench.Parts(), ","))
	flags.IntVar(&cfg.Rounds, "rounds", 3, "alternating rounds of what is compared")
	flags.IntVar(&cfg.Tasks, "tasks", 60, "tasks of each kind in a round")
	flags.IntVar(&cfg.Starts, "starts", 15, "tasks in local sandboxes")
	flags.DurationVar(&cfg.Hour, "hour", time.Minute, "how long an hour of an agent lasts")
	flags.DurationVar(&cfg.Spell, "spell", 4*time.Second, "one round of one way to store events")
	flags.DurationVar(&cfg.Steady, "steady", 30*time.Second, "posts at half the top rate")
	flags.IntVar(&cfg.Streams, "streams", 10_000, "open streams in one process")
	flags.DurationVar(&cfg.Watch, "watch", 20*time.Second, "how long the memory of streams is watched, idle and under ingest each")
	flags.IntVar(&cfg.History, "history", 100_000, "events of a sandbox that is read page by page")
	flags.DurationVar(&cfg.Slow, "slow", 8*time.Second, "the longest that a sandbox at the Daytona emulator takes to be ready")
	flags.IntVar(&cfg.Ledger, "ledger", 10_000, "rows of the ledger that the reaper goes over")
	flags.IntVar(&cfg.Alive, "alive", 1000, "sandboxes that live meanwhile")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if only != "" {
		cfg.Only = strings.Split(only, ",")
	}
	machine := bench.NewMachine("make bench", version)
	report, err := bench.Run(ctx, cfg)
	fmt.Fprint(stdout, report.Text())
	if err != nil || out == "" {
		return err
	}
	if err := os.WriteFile(out, []byte(report.Markdown(machine)), 0o644); err != nil { //nolint:gosec // a document
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// Command corpus has omoi run the scenarios of internal/supervise/testdata/scenarios and writes
// what their agents did into the corpus of the guardian. It needs a running omoi whose agents
// beat each 250 ms: OMOI_TEST_AGENT_HEARTBEAT_INTERVAL=250ms omoi dev
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/omoi-dev/omoi/api/client"
)

const testdata = "internal/supervise/testdata"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	api := flag.String("api", "http://127.0.0.1:18000", "address of the server")
	only := flag.String("only", "", "scenarios whose names match this `regexp`")
	parallel := flag.Int("parallel", 2, "scenarios at a time")
	flag.Parse()
	names, err := chosen(*only)
	if err != nil {
		return err
	}
	repo, err := repository(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(repo) }()
	r := &recorder{api: client.New(*api, os.Getenv("OMOI_API_KEY")), repo: repo}
	return r.all(ctx, names, *parallel)
}

// chosen are the files of scenarios.
func chosen(only string) ([]string, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	files, err := filepath.Glob(testdata + "/scenarios/*.json")
	if err != nil {
		return nil, fmt.Errorf("list scenarios: %w", err)
	}
	var names []string
	for _, file := range files {
		if pattern.MatchString(strings.TrimSuffix(filepath.Base(file), ".json")) {
			names = append(names, file)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no scenario fits; run it from the top of the source tree")
	}
	return names, nil
}

func (r *recorder) all(ctx context.Context, files []string, parallel int) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	room := make(chan struct{}, max(parallel, 1))
	for _, file := range files {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			note, err := r.record(ctx, file)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", filepath.Base(file), err))
				return
			}
			fmt.Fprintln(os.Stderr, note)
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

package openapitest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// Start brings an emulator up and ends it with the test, which fails if an exchange was not
// what the descriptions say, or something was left behind.
func Start(tb testing.TB, opts daytonatest.Options) *daytonatest.Server {
	tb.Helper()
	judge := newJudge(tb)
	before := opts.Observe
	opts.Observe = func(e daytonatest.Exchange) {
		if before != nil {
			before(e)
		}
		judge.see(e)
	}
	s, err := daytonatest.Start(tb.Context(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the Daytona emulator: %v", err)
		}
		for _, fault := range judge.found() {
			tb.Errorf("not what Daytona's description says: %v", fault)
		}
	})
	return s
}

// Described answers the folder of the descriptions, empty where there is none.
func Described() string {
	if dir := os.Getenv("OMOI_DAYTONA_OPENAPI"); dir != "" {
		return dir
	}
	for at, _ := os.Getwd(); ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return existing(filepath.Join(filepath.Dir(at), "shared", "daytona"))
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

func existing(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, fileAPI)); err != nil {
		return ""
	}
	return dir
}

// judge collects what was wrong.
type judge struct {
	docs *documents // nil: none are here

	mu     sync.Mutex
	faults []error
}

func newJudge(tb testing.TB) *judge {
	tb.Helper()
	dir := Described()
	if dir == "" {
		tb.Log("SKIPPED: nothing is held against Daytona's descriptions; set OMOI_DAYTONA_OPENAPI to a folder with " + fileAPI + " and " + fileToolbox)
		return &judge{}
	}
	docs, err := load(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return &judge{docs: docs}
}

func (j *judge) see(e daytonatest.Exchange) {
	if j.docs == nil {
		return
	}
	if err := j.docs.check(e); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.faults = append(j.faults, err)
	}
}

func (j *judge) found() []error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.faults
}

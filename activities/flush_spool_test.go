package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// What an agent could not send is sent at its end, or the ledger says that it is lost.
func TestCollectWork_RecordsUnsentEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unsent  int64
		pull    bool
		code    int // of the flush
		flushes int
		lost    bool
		unkept  bool
		kept    int // runs of omoi-agent checkpoint
	}{
		"nothing":               {flushes: 0},
		"the API is back":       {unsent: 3, flushes: 1},
		"it is not":             {unsent: 3, code: 1, flushes: 1, lost: true},
		"a pull relay reads it": {unsent: 3, pull: true},
		"nonsense of an agent":  {unsent: -1},
		"no last checkpoint":    {unkept: true, kept: 1},
		"nor can it be taken":   {unsent: 3, unkept: true, kept: 1, flushes: 1},
		"the relay carries it":  {unkept: true, pull: true},
	} {
		b := newBench(t)
		if c.pull {
			b.cfg.Pull = []string{task.ProviderLocal}
		}
		b.running()
		got, flushes := committed(), 0
		got.Unsent, got.Unkept = c.unsent, c.unkept
		kept := 0
		b.collects(got)
		collect := b.provider.onExec
		b.provider.onExec = func(at *box, args []string) (sandbox.ExecResult, error) {
			switch args[1] {
			case "checkpoint":
				kept++
				return sandbox.ExecResult{ExitCode: 1, Stderr: []byte("the pack is too large")}, nil
			case "flush":
				flushes++
			default:
				return collect(at, args)
			}
			return sandbox.ExecResult{ExitCode: c.code, Stderr: []byte("the API is away")}, nil
		}
		b.salvage()
		require.Equal(t, c.flushes, flushes, name)
		require.Equal(t, c.kept, kept, name)
		require.Equal(t, c.lost, len(b.store.settled) > 0, name)
		if c.lost {
			require.Equal(t, contract.RecordSandboxStateInput{SandboxID: boxID, Event: "unsent"}, b.store.settled[0])
		}
	}
}

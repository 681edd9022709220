package activities_test

import (
	"bytes"
	"encoding/base64"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// holds puts a file into the sandbox when its work is collected.
func (b *bench) holds(at *box, path string, content []byte) {
	collect := b.provider.onExec
	b.provider.onExec = func(in *box, args []string) (sandbox.ExecResult, error) {
		res, err := collect(in, args)
		at.files[path] = content
		return res, err
	}
}

// A large bundle passes through, and is never held.
func TestSalvage_StreamsALargeBundle(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	b := newBench(t)
	at := b.running()
	b.collects(dirty())
	b.git.rescueErr = task.Errorf(task.CodeConflict, "GitHub does not take the branch: GH001: Large files detected.")
	const size = 100 << 20
	b.holds(at, agentconfig.OutBundle, make([]byte, size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Equal(t, task.SalvagePatch, b.salvage().Kind)
	runtime.ReadMemStats(&after)
	require.EqualValues(t, base64.StdEncoding.EncodedLen(size), b.store.lengths[b.store.rows[boxID].Salvage.Ref])
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/4))
}

// Commits that nobody can keep are lost, and the ledger says so and why.
func TestSalvage_ReportsATooLargeBundleAsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := b.running()
	b.collects(dirty())
	b.git.rescueErr = task.Errorf(task.CodeConflict, "GitHub does not take the branch: GH001: Large files detected.")
	b.holds(at, agentconfig.OutBundle, make([]byte, 128<<20+1))
	require.Equal(t, task.SalvageLost, b.salvage().Kind)
	kept := b.store.rows[boxID].Salvage
	require.NotNil(t, kept.LostSince)
	require.Equal(t, []string{"The repository rejects the work under any ref, and omoi stores at most 128 MiB elsewhere."}, kept.Notes)
	require.Empty(t, b.store.lengths)
}

// Of a patch that is too long the files that are whole are kept, and the ledger says how many.
func TestSalvage_TruncatesALongPatch(t *testing.T) {
	t.Parallel()
	file := func(lines int) string {
		return "diff --git a/x b/x\n" + strings.Repeat("+diff --git is a line of it\n", lines)
	}
	for name, c := range map[string]struct {
		patch, kept, kind string
		notes             []string
	}{
		"just so":  {patch: strings.Repeat("x", 1<<20), kept: strings.Repeat("x", 1<<20), kind: task.SalvagePatch},
		"long":     {file(1) + file(2) + file(1<<16), file(1) + file(2), task.SalvagePatch, []string{"The patch is longer than 1 MiB: only its first files, 2 of them, are kept."}},
		"one file": {file(1 << 16), "", task.SalvageLost, []string{"The first changed file alone makes a patch of more than 1 MiB, which is not kept."}},
	} {
		b := newBench(t)
		b.cfg.MaxPatchBytes = 1 << 20
		at := b.running()
		b.collects(agentconfig.Collected{Repo: true, Files: 3, Patch: agentconfig.OutPatch})
		b.holds(at, agentconfig.OutPatch, bytes.Clone([]byte(c.patch)))
		require.Equal(t, c.kind, b.salvage().Kind, name)
		saved := b.store.rows[boxID].Salvage
		require.Equal(t, c.notes, saved.Notes, name)
		require.Equal(t, strings.TrimSuffix("patch:"+c.kept, "patch:"), b.store.texts[saved.Ref], name)
	}
}

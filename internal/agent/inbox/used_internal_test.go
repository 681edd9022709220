package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSave_Syncs(t *testing.T) {
	t.Parallel()
	u, err := openUsed(filepath.Join(t.TempDir(), "used"))
	require.NoError(t, err)
	u.sync = func(*os.File) error { return errors.New("disk is gone") }
	require.ErrorContains(t, u.add("a"), "disk is gone", "a note that is not synced is no note")
	require.ErrorContains(t, u.claim(Message{ID: "b"}), "disk is gone")
	require.ErrorContains(t, u.win("b"), "disk is gone")
	synced := 0
	u.sync = func(f *os.File) error { synced++; return f.Sync() }
	require.NoError(t, u.add("c"))
	require.Equal(t, 2, synced, "the file, and its name")
}

func TestOpenUsed_KeepsWhatCounts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "used")
	u, err := openUsed(path)
	require.NoError(t, err)
	u.sync = func(*os.File) error { return nil }
	for n := range 3 * mostUsed {
		m := Message{ID: fmt.Sprintf("m-%d", n), Content: "said"}
		require.NoError(t, u.claim(m))
		require.NoError(t, u.win(m.ID))
		require.NoError(t, u.add(m.ID))
	}
	require.NoError(t, u.claim(Message{ID: "asked", Content: "x", Timestamp: json.RawMessage(`1`)}))
	require.NoError(t, u.claim(Message{ID: "won", Content: "y", Timestamp: json.RawMessage(`1`)}))
	require.NoError(t, u.win("won"))
	require.NoError(t, u.claim(Message{ID: "lost"}))
	require.NoError(t, u.drop("lost"))

	again, err := openUsed(path)
	require.NoError(t, err)
	require.Len(t, again.Used, mostUsed)
	for name, now := range map[string]*usedIDs{"first": again, "second": reopened(t, path)} {
		require.Equal(t, u.Taker, now.Taker, name)
		require.Contains(t, now.Used, fmt.Sprintf("m-%d", 3*mostUsed-1), name)
		require.Equal(t, []claim{
			{Message: Message{ID: "asked", Content: "x", Timestamp: json.RawMessage(`1`)}},
			{Message: Message{ID: "won", Content: "y", Timestamp: json.RawMessage(`1`), Repeated: true}, Won: true},
		}, now.Open, name)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing lies about")
}

func reopened(t *testing.T, path string) *usedIDs {
	t.Helper()
	u, err := openUsed(path)
	require.NoError(t, err)
	return u
}

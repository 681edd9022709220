package acpserver

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/task"
)

// process returns a server that keeps sessions in a folder, as each editor starts one.
func process(folder string) *server {
	return &server{Config: Config{Folder: folder}, out: io.Discard, sessions: map[string]*session{}}
}

// TestHold_OneProcessAtATime checks that a second process is refused while the first holds the session, and then continues where the
// first one ended.
func TestHold_OneProcessAtATime(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, err := process(folder).open(params{Folder: "/src/app"})
	require.NoError(t, err)
	second, err := process(folder).known(params{SessionID: first.id})
	require.NoError(t, err)

	require.NoError(t, first.hold())
	require.NoError(t, first.hold(), "the same process")
	err = second.hold()
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.Equal(t, jsonrpc.CodeRequest, refusal(err).Code)
	require.Contains(t, refusal(err).Message, "Next: ")
	first.Prompts++
	first.next("a-task")
	first.release()

	require.NoError(t, second.hold())
	require.Equal(t, []any{"a-task", 1, "/src/app"}, []any{second.task(), second.Prompts, second.Cwd})
	second.Prompts++
	second.next("another-task")
	second.release()
	require.NoError(t, first.hold())
	require.Equal(t, []any{[]string{"a-task", "another-task"}, 2}, []any{first.Tasks, first.Prompts})
}

// TestKnown_DamagedFile checks that a damaged file is named with its cause and a next command, and that no file is none.
func TestKnown_DamagedFile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"cut": `{"cwd":"/src/app","tas`, "empty": "", "another form": `[]`, "no folder": `{"tasks":["APP-1"]}`, "bad ID": `{"cwd":"/src","tasks":["../x"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := process(t.TempDir())
			file := filepath.Join(s.Folder, "APP-1.json")
			require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
			_, err := s.known(params{SessionID: "APP-1"})
			require.ErrorContains(t, err, file)
			require.ErrorContains(t, err, "Next: omoi ps")
			require.Empty(t, s.sessions)
		})
	}
	one, err := process(t.TempDir()).known(params{SessionID: "APP-1", Folder: "/src"})
	require.NoError(t, err)
	require.Equal(t, "APP-1", one.task())
}

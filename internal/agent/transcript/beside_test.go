package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/transcript"
	"github.com/omoi-dev/omoi/internal/redact"
)

// side is a rig whose transcript has files next to it.
type side struct {
	*rig
	k *transcript.Keeper
}

func newSide(t *testing.T, cfg transcript.Config) side {
	t.Helper()
	r := newRig(t)
	cfg.Beside = filepath.Join(t.TempDir(), "beside.jsonl")
	return side{rig: r, k: r.keeper(cfg)}
}

func (s side) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(strings.TrimSuffix(s.path, ".jsonl"), name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
}

func (s side) send() {
	s.t.Helper()
	require.NoError(s.t, s.k.Send(s.t.Context()))
}

// unpack fetches the stored files next to the transcript, and returns them by name.
func (s side) unpack(edit func(name string, text []byte) []byte) map[string]string {
	s.t.Helper()
	from, to := filepath.Join(s.t.TempDir(), "got"), s.t.TempDir()
	require.NoError(s.t, transcript.FetchBeside(s.t.Context(), s.line, "run", from))
	require.NoError(s.t, transcript.Unpack(from, to, edit))
	return filesBelow(s.t, to)
}

func same(_ string, text []byte) []byte { return text }

func TestBeside_FilesAreSent(t *testing.T) {
	t.Parallel()
	s := newSide(t, transcript.Config{Secrets: redact.New("", map[string]string{"MY_SECRET": "planted-secret"})})
	s.grow("{}\n")
	s.send()
	require.Len(t, s.server.Transcripts(), 1, "nothing is beside it")

	large := strings.Repeat("é", 400_000) + "\nend without a line feed"
	s.write("tool-results/a.txt", large)
	s.write("tool-results/s.txt", "a planted-secret\n")
	s.write("subagents/agent-1.jsonl", "{\"n\":1}\n{\"n\":")
	s.write("other/x", "no part of the session\n")
	s.write("tool-results/image.png", "\x89PNG\xff\xfe")
	require.NoError(t, syscall.Mkfifo(filepath.Join(strings.TrimSuffix(s.path, ".jsonl"), "tool-results/pipe"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(strings.TrimSuffix(s.path, ".jsonl"), "tool-results/link")))
	s.send()
	want := map[string]string{"tool-results/a.txt": large, "tool-results/s.txt": "a [redacted]\n", "subagents/agent-1.jsonl": "{\"n\":1}\n"}
	require.Equal(t, want, s.unpack(same))

	s.write("subagents/agent-1.jsonl", "{\"n\":1}\n{\"n\":2}\n")
	s.write("tool-results/s.txt", "again\n")
	s.send()
	want["subagents/agent-1.jsonl"], want["tool-results/s.txt"] = "{\"n\":1}\n{\"n\":2}\n", "again\n"
	require.Equal(t, want, s.unpack(same))
	pieces := s.server.Transcripts()["run.beside"].Pieces
	s.send()
	require.Equal(t, pieces, s.server.Transcripts()["run.beside"].Pieces, "nothing new, nothing sent")
	require.Equal(t, "{}\n", s.kept().Content)

	// Another process of the same run.
	s.k = s.keeper(transcript.Config{Beside: filepath.Join(t.TempDir(), "beside.jsonl")})
	s.send()
	require.Equal(t, want, s.unpack(func(name string, text []byte) []byte {
		if name == "tool-results/s.txt" {
			want[name] = "edited\n"
			return []byte("edited\n")
		}
		return text
	}))
}

func TestBeside_IsBounded(t *testing.T) {
	t.Parallel()
	s := newSide(t, transcript.Config{})
	s.grow("{}\n")
	for _, name := range []string{"a", "b", "c"} {
		s.write("tool-results/"+name, strings.Repeat("0123456789abcde\n", 256<<10)) // 4 MiB
	}
	s.send()
	require.LessOrEqual(t, len(s.server.Transcripts()["run.beside"].Content), 8<<20)
	got := s.unpack(same)
	require.Len(t, got["tool-results/a"], 4<<20)
	require.NotContains(t, got, "tool-results/c")
}

func TestUnpack_WritesNothingElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	to, from := filepath.Join(dir, "to"), filepath.Join(dir, "from")
	require.NoError(t, os.MkdirAll(filepath.Join(to, "subagents"), 0o755))
	require.NoError(t, os.Symlink(dir, filepath.Join(to, "tool-results")))
	var log []byte
	for _, path := range []string{"../up", "/abs", "subagents/../../up", "elsewhere/x", "tool-results/linked", ""} {
		line, err := json.Marshal(map[string]any{"path": path, "first": true, "text": "x"})
		require.NoError(t, err)
		log = append(append(log, line...), '\n')
	}
	log = append(log, "rubbish\n{\"path\":\"subagents/cut\",\"text\":\"the end of it\"}\n"...)
	require.NoError(t, os.WriteFile(from, log, 0o600))
	require.Error(t, transcript.Unpack(from, to, same), "the link leads out of the folder")
	require.Equal(t, map[string]string{"from": string(log), "to/tool-results": ""}, filesBelow(t, dir))
	require.NoError(t, transcript.Unpack(filepath.Join(dir, "none"), to, same))
}

// filesBelow returns files by name; a link counts as empty.
func filesBelow(t *testing.T, top string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(top, path)
		switch {
		case err != nil || entry.IsDir():
			return err
		case entry.Type() == os.ModeSymlink:
			files[name] = ""
			return nil
		}
		text, err := os.ReadFile(path)
		files[name] = string(text)
		return err
	}))
	return files
}

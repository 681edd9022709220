package diff_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

func TestAsWritten_TheFirstEditOfAConvertedFileIsOneLine(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	w := &tree{t: t, work: work}
	run(t, work, "git", "init", "-q")
	w.write(".gitattributes", "*.bat text eol=crlf\n*.lat text working-tree-encoding=ISO-8859-1\n*.id ident\n*.sh text eol=lf\n")
	w.write("a.bat", "one\r\ntwo\r\nthree\r\n")
	w.write("a.lat", "caf\xe9\ntwo\nna\xefve\n")
	w.write("a.id", "$Id$\ntwo\n")
	w.write("a.sh", "one\ntwo\n")
	run(t, work, "git", "add", ".")
	run(t, work, "git", "commit", "-qm", "one")
	run(t, work, "git", "rm", "-q", "-r", "--cached", ".")
	run(t, work, "git", "checkout", "-qf", "HEAD", "--", ".") // writes $Id$
	open := func(name string) *gitcmd.Shadow {
		s, err := gitcmd.Opening{Dir: filepath.Join(t.TempDir(), name), Work: work}.Open(t.Context())
		require.NoError(t, err)
		return s
	}
	w.s = open("shadow.git")
	require.NoError(t, w.s.KeepBytes())
	w.s.Seed(t.Context())
	stored := open("stored.git")
	edit := func(name, content, want string) {
		t.Helper()
		before := w.take()
		w.write(name, content)
		list, _, err := diff.Trees(t.Context(), w.s.Git, before.Tree, w.take().Tree, 100)
		require.NoError(t, err)
		require.NoError(t, diff.AsWritten(t.Context(), w.s.Git, stored.Git, list))
		require.Len(t, list, 1)
		require.Equal(t, []any{1, 1}, []any{list[0].Added, list[0].Removed}, list[0].Diff)
		require.Contains(t, list[0].Diff, want)
	}
	edit("a.bat", "one\r\n2\r\nthree\r\n", "-two\r\n+2\r\n")
	edit("a.bat", "one\r\n2\r\n3\r\n", "-three\r\n+3\r\n")
	edit("a.lat", "caf\xe9\n2\nna\xefve\n", "-two\n+2\n")
	content, err := os.ReadFile(filepath.Join(work, "a.id"))
	require.NoError(t, err)
	require.Contains(t, string(content), "$Id: ")
	edit("a.id", strings.Replace(string(content), "two", "2", 1), "-two\n+2\n")
	edit("a.sh", "one\n2\n", "-two\n+2\n")
	w.write("a.bat", "one\n2\n3\n")
	run(t, work, "git", "add", ".") // stores this form too
	w.take()
	edit("a.bat", "one\n2\nthree\n", "-3\n+three\n")
}

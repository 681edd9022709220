package checkpoints_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
)

// module adds a submodule to the origin, and returns a function that fills it in a workspace, as a setup step does.
func (r *rig) module() (fill func(work string)) {
	r.t.Helper()
	library := r.t.TempDir()
	r.git(library, "init", "-q", "-b", "main", ".")
	r.put(library, "lib.txt", "lib\n")
	r.put(library, "left.txt", "left\n")
	r.put(library, ".gitignore", "*.log\n")
	r.git(library, "add", ".")
	r.git(library, "commit", "-qm", "library")
	r.git(r.work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", library, "module")
	r.git(r.work, "commit", "-qm", "submodule")
	r.git(r.work, "push", "-q", "origin", "HEAD")
	fill = func(work string) {
		r.git(work, "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
		r.git(filepath.Join(work, "module"), "remote", "set-url", "origin", "https://example.invalid/library.git")
	}
	r.work = r.clone()
	fill(r.work)
	return fill
}

func TestRestore_FilesOfInnerRepositories(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	fill := r.module()
	k := r.open()
	r.keep(k)
	require.Empty(t, r.server.Checkpoints()[1].LeftOut, "the submodule is unchanged")

	r.put(r.work, "module/lib.txt", "changed\n")
	r.put(r.work, "module/new.txt", "new\n")
	r.put(r.work, "module/noise.log", "ignored in the submodule\n")
	r.git(r.work, "-C", "module", "add", ".")
	r.git(r.work, "-C", "module", "commit", "-qm", "not pushed")
	r.git(r.work, "init", "-q", "nested")
	r.put(r.work, "nested/own.txt", "own\n")
	r.git(r.work, "init", "-q", "nested/deep")
	r.put(r.work, "nested/deep/er.txt", "deeper\n")
	require.NoError(t, k.Finish(t.Context()))

	work, dir := r.clone(), t.TempDir()
	from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
	require.NoError(t, err)
	require.NoError(t, from.Commits(t.Context(), dir, work, branch))
	fill(work)
	require.NoError(t, from.Files(t.Context(), dir, work))
	files := slices.DeleteFunc(digest(t, r.work), func(line string) bool { return strings.Contains(line, ".git\"") })
	require.Equal(t, files, slices.DeleteFunc(digest(t, work), func(line string) bool { return strings.Contains(line, ".git\"") }))
	require.NoFileExists(t, filepath.Join(work, "module/noise.log"))
	said := strings.Join(from.From.LeftOut, "\n")
	for _, name := range []string{"module", "nested/", "nested/deep"} {
		require.Contains(t, said, `"`+name+`" is a separate repository: its files are saved, its commits and its Git index are not`)
	}
}

func TestKeep_LeavesOutIgnoredFilesOfAFolderThatWasAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sha1")
	r.git(r.work, "init", "-q", "nested")
	r.put(r.work, "nested/.gitignore", ".env\n")
	r.put(r.work, "nested/foo", "a file\n")
	r.git(r.work, "-C", "nested", "add", ".")
	require.NoError(t, os.Remove(filepath.Join(r.work, "nested/foo")))
	r.put(r.work, "nested/foo/.env", "SECRET=1\n")
	r.put(r.work, "nested/foo/t", "text\n")
	r.keep(r.open())
	require.Equal(t, "text", r.taken("nested/foo/t"))
	work, _ := r.restored()
	require.NoFileExists(t, filepath.Join(work, "nested/foo/.env"))
}

// A pointer of Git LFS, and a filter that replaces it by its content as git lfs does.
const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n"

func (r *rig) largeFiles() (pull func(work string)) {
	r.t.Helper()
	r.put(r.work, ".gitattributes", "*.bin filter=lfs -text\n")
	r.put(r.work, "one.bin", pointer)
	r.put(r.work, "two.bin", pointer)
	r.git(r.work, "add", ".")
	r.git(r.work, "commit", "-qm", "large files")
	r.git(r.work, "push", "-q", "origin", "HEAD")
	pull = func(work string) {
		r.git(work, "config", "filter.lfs.smudge", "cat >/dev/null; echo content")
		r.git(work, "config", "filter.lfs.clean", "cat >/dev/null; printf '"+strings.ReplaceAll(pointer, "\n", "\\n")+"'")
		for _, name := range []string{"one.bin", "two.bin"} {
			require.NoError(r.t, os.Remove(filepath.Join(work, name)))
		}
		r.git(work, "checkout", "-q", "--", ".")
		for _, name := range []string{"one.bin", "two.bin"} { // clearly before the index
			require.NoError(r.t, os.Chtimes(filepath.Join(work, name), time.Time{}, time.Unix(1_100_000_000, 0)))
		}
		r.git(work, "update-index", "-q", "--refresh")
	}
	r.work = r.clone()
	pull(r.work)
	return pull
}

func TestRestore_LargeFilesThatAreUnchangedStayPointers(t *testing.T) {
	t.Parallel()
	for name, touched := range map[string]bool{"unchanged": false, "touched by the setup step": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "sha1")
			pull := r.largeFiles()
			if touched {
				for _, file := range []string{"one.bin", "two.bin", "kept.txt"} {
					require.NoError(t, os.Chtimes(filepath.Join(r.work, file), time.Time{}, time.Unix(1_000_000_000, 0)))
				}
			}
			r.put(r.work, "two.bin", "changed by the agent\n")
			r.keep(r.open())
			want := pointer
			if touched { // the file times no longer say that the file is unchanged
				want = "content\n"
			}
			require.Equal(t, strings.TrimSpace(want), r.taken("one.bin"))
			require.Equal(t, "changed by the agent", r.taken("two.bin"))
			require.Equal(t, "kept", r.taken("kept.txt"))

			work, dir := r.clone(), t.TempDir()
			from, err := checkpoints.Fetch(t.Context(), r.line, dir, r.server.Segments())
			require.NoError(t, err)
			require.NoError(t, from.Commits(t.Context(), dir, work, branch))
			pull(work)
			require.NoError(t, from.Files(t.Context(), dir, work))
			require.Equal(t, digest(t, r.work), digest(t, work))
		})
	}
}

// taken returns a file of the newest checkpoint.
func (r *rig) taken(name string) string {
	r.t.Helper()
	all := r.server.Checkpoints()
	return r.git(filepath.Join(r.dir, "checkpoint.git"), "cat-file", "blob", all[len(all)].Commit+":work/"+name)
}

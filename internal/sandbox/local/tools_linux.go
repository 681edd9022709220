package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tools are programs that agents expect and that this machine keeps outside the usual folders.
type tools struct {
	path     []string // folders for PATH, after ours
	prefixes []string // trees to bind read-only
	programs []string // files to bind read-only
}

const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// findTools looks for git, sh, python3 and awk. One that only exists where uid cannot go is left out.
func findTools(uid int) tools {
	var t tools
	for _, name := range []string{"git", "sh", "python3", "awk"} {
		if inStandardPath(name) {
			continue
		}
		bin := resolveTool(name)
		if bin == "" {
			continue
		}
		prefix := prefixOf(bin)
		if prefix == "/" || uid != os.Geteuid() && checkOpen(filepath.Dir(bin)) != nil || slices.Contains(t.prefixes, prefix) {
			continue
		}
		t.prefixes = append(t.prefixes, prefix)
		t.path = append(t.path, filepath.Dir(bin))
	}
	return t
}

// reachable are the programs that uid can reach and that the usual folders do not hold.
func reachable(programs []string, uid int) []string {
	return slices.DeleteFunc(slices.Clone(programs), func(path string) bool {
		return strings.HasPrefix(path, "/usr/") || uid != os.Geteuid() && checkOpen(path) != nil
	})
}

// prefixOf is the tree that a program needs: bin's parent, or the store that holds its libraries.
func prefixOf(bin string) string {
	for _, store := range []string{"/nix", "/gnu"} {
		if strings.HasPrefix(bin, store+"/store/") {
			return store
		}
	}
	return filepath.Dir(filepath.Dir(bin))
}

func inStandardPath(name string) bool {
	return slices.ContainsFunc(filepath.SplitList(standardPath), func(dir string) bool {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		return err == nil && (strings.HasPrefix(path, "/usr/") || strings.HasPrefix(path, "/bin/"))
	})
}

// resolveTool answers the program itself, not a link or a version manager's stand-in.
func resolveTool(name string) string {
	found, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	if name == "python3" {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, found, "-c", "import sys; print(sys.executable)") //nolint:gosec // G204: found on PATH
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}      // the rest of ours holds credentials
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		found = strings.TrimSpace(string(out))
	}
	path, err := filepath.EvalSymlinks(found)
	if err != nil {
		return ""
	}
	return path
}

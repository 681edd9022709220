package devstack

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Download is the value of Config.PostgresBin that downloads PostgreSQL even if the machine has one.
const Download = "download"

// FindPostgres returns the directory of initdb and postgres: named, or else the one on PATH, or else the newest
// installed package. Empty means not found. major restricts the search to one major version; empty allows any.
func FindPostgres(named, major string) string {
	candidates := []string{named}
	if named == "" {
		candidates = pathAndPackages()
	}
	for _, dir := range candidates {
		if isPostgres(dir) && (major == "" || majorOf(dir) == major) {
			return dir
		}
	}
	return ""
}

func pathAndPackages() []string {
	var found []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if path, err := filepath.EvalSymlinks(initdb); err == nil {
			found = append(found, filepath.Dir(path))
		}
	}
	var packages []string
	for _, glob := range []string{ // package directories outside PATH
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
	} {
		dirs, _ := filepath.Glob(glob) // the patterns are valid
		packages = append(packages, dirs...)
	}
	slices.SortFunc(packages, func(a, b string) int { return -cmp.Compare(number(a), number(b)) })
	return append(found, packages...)
}

// number returns the version in the path of a package.
func number(dir string) int {
	base := filepath.Base(filepath.Dir(dir))
	n, _ := strconv.Atoi(base[strings.LastIndexAny(base, "@-")+1:]) // 0 sorts last
	return n
}

func isPostgres(dir string) bool {
	return dir != "" && isProgram(filepath.Join(dir, "initdb")) && isProgram(filepath.Join(dir, "postgres"))
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// majorOf returns the major version of a PostgreSQL; empty if unknown.
func majorOf(dir string) string {
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output() //nolint:gosec,noctx // prints a line and ends
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return ""
	}
	major, _, _ := strings.Cut(fields[2], ".")
	return major
}

// FindTemporal returns the path of the temporal program: named, or else the first on PATH, beside this executable, or
// in bin/ of the enclosing Go module.
func FindTemporal(named string) (string, error) {
	if named != "" {
		if isProgram(named) {
			return named, nil
		}
		return "", task.Errorf(task.CodeInvalid, "Invalid dev.temporal_bin: %s is not a program", named)
	}
	if path, err := exec.LookPath("temporal"); err == nil {
		return path, nil
	}
	for _, dir := range nearby() {
		if path := filepath.Join(dir, "temporal"); isProgram(path) {
			return path, nil
		}
	}
	return "", task.Errorf(task.CodeNotFound, "The program temporal is not on PATH and not beside omoi. Next: make temporal in omoi's sources, or install the Temporal CLI")
}

// nearby returns the directories searched after PATH.
func nearby() []string {
	var dirs []string
	if exe, err := os.Executable(); err == nil {
		if path, err := filepath.EvalSymlinks(exe); err == nil {
			exe = path
		}
		dirs = append(dirs, filepath.Dir(exe), filepath.Join(filepath.Dir(exe), "bin"))
	}
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return append(dirs, filepath.Join(dir, "bin"))
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dirs
}

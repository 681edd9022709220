//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// programs of this machine that go into the image; the first ones must be there.
func programs() (must, may []string) {
	must = []string{
		"sh", "git", "env", "cat", "ls", "ln", "mkdir", "mkfifo", "touch", "chmod", "rm", "mv", "cp", "stat", "head", "tail",
		"tr", "seq", "date", "find", "readlink", "base64",
		"sleep", "printf", "true", "false", "pwd", "id", "test", "xargs", "setsid", "awk", "grep", "sed", "dd", "wc", "stty",
	}
	return must, []string{"bash", "sort", "mount", "unshare", "df", "du", "ps", "truncate"}
}

// rootFS is a root file system of this machine's own programs and what they need: no registry
// need answer.
func rootFS() ([]byte, error) {
	t := &tree{seen: make(map[string]bool)}
	t.w = tar.NewWriter(&t.out)
	must, may := programs()
	for n, name := range append(must, may...) {
		path, err := exec.LookPath(name)
		if err != nil && n < len(must) {
			return nil, fmt.Errorf("find a program for the image: %w", err)
		}
		if err == nil {
			t.program(name, path)
		}
	}
	t.file("/etc/passwd", 0o644, []byte("root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n"))
	t.file("/etc/group", 0o644, []byte("root:x:0:\nagent:x:1000:\n"))
	t.file("/etc/nsswitch.conf", 0o644, []byte("hosts: files dns\n"))
	if certs, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt"); err == nil {
		t.file("/etc/ssl/certs/ca-certificates.crt", 0o644, certs)
	}
	t.link("/bin", "usr/bin")
	for _, side := range []string{"git-upload-pack", "git-receive-pack", "git-upload-archive"} {
		t.link("/usr/bin/"+side, "git")
	}
	return t.out.Bytes(), errors.Join(t.err, t.w.Close())
}

// tree is an archive that is being written. The first error stays.
type tree struct {
	out  bytes.Buffer
	w    *tar.Writer
	seen map[string]bool
	err  error
}

// program puts it into /usr/bin, and its libraries where its loader looks for them.
func (t *tree) program(name, path string) {
	t.copyTo("/usr/bin/"+name, path)
	text, err := exec.Command("ldd", path).Output() //nolint:noctx,gosec // it only prints
	if err != nil {
		return // a script, or linked statically
	}
	for field := range strings.FieldsSeq(string(text)) {
		if strings.HasPrefix(field, "/") {
			t.copyTo(field, field)
		}
	}
}

func (t *tree) copyTo(to, from string) {
	if t.err != nil || t.seen[to] {
		return
	}
	content, err := os.ReadFile(from)
	if err != nil {
		t.err = fmt.Errorf("copy into the image: %w", err)
		return
	}
	t.file(to, 0o755, content)
}

func (t *tree) file(to string, mode fs.FileMode, content []byte) {
	t.parents(to)
	t.put(&tar.Header{Typeflag: tar.TypeReg, Name: to[1:], Mode: int64(mode), Size: int64(len(content))}, content)
}

func (t *tree) link(at, to string) {
	t.put(&tar.Header{Typeflag: tar.TypeSymlink, Name: at[1:], Linkname: to}, nil)
}

func (t *tree) parents(of string) {
	var dirs []string
	for dir := filepath.Dir(of); dir != "/"; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	for _, dir := range slices.Backward(dirs) {
		t.put(&tar.Header{Typeflag: tar.TypeDir, Name: dir[1:] + "/", Mode: 0o755}, nil)
	}
}

func (t *tree) put(head *tar.Header, content []byte) {
	at := "/" + strings.TrimSuffix(head.Name, "/")
	if t.err != nil || t.seen[at] {
		return
	}
	t.seen[at] = true
	if t.err = t.w.WriteHeader(head); t.err == nil {
		_, t.err = t.w.Write(content)
	}
}

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

var errNone = errors.New("no PostgreSQL found")

// guard runs initdb and the server, and outlives neither the test process nor its pipe:
// reading standard input ends when the last copy of the pipe's other end is closed.
const guard = `
set -u
bin=$1 dir=$2
"$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C -N --no-instructions >"$dir/log" 2>&1 || exit 1
"$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c fsync=off -c synchronous_commit=off \
	-c full_page_writes=off -c max_connections=300 -c shared_buffers=64MB -c timezone=UTC \
	</dev/null >>"$dir/log" 2>&1 &
server=$!
read -r line
kill -QUIT $server
wait $server
rm -rf "$dir"
`

// server is where databases are made.
type server struct {
	address string // of its own database
	// pipe is held for the life of the process: closing it, as a finalizer would, stops the server.
	pipe io.Writer
}

// start runs a private server.
func start() (server, error) {
	bin, err := binaries()
	if err != nil {
		return server{}, err
	}
	dir, err := os.MkdirTemp(socketRoot(), "omoi-pg-")
	if err != nil {
		return server{}, err
	}
	pipe, err := launch(bin, dir)
	if err != nil {
		return server{}, errors.Join(err, os.RemoveAll(dir))
	}
	query := url.Values{"host": {dir}, "user": {"postgres"}, "sslmode": {"disable"}}
	s := server{address: "postgres:///postgres?" + query.Encode(), pipe: pipe}
	return s, await(s.address, dir)
}

func launch(bin, dir string) (io.Writer, error) {
	cmd := exec.Command("/bin/sh", "-c", guard, "sh", bin, dir)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := asOther(cmd, dir); err != nil {
		return nil, err
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return pipe, cmd.Start()
}

// asOther gives the directory and the command to a user that PostgreSQL accepts, if we are root.
func asOther(cmd *exec.Cmd, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return fmt.Errorf("find a user for PostgreSQL, which refuses root: %w", err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(dir, int(uid), int(gid))
}

// await asks the server until it answers, at most a minute; the log tells why it did not.
func await(address, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, bytes.TrimSpace(log))
		case <-tick.C:
		}
	}
}

// binaries finds a folder with initdb and postgres: the newest of Debian's, else that of PATH.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(found)
	if path, err := exec.LookPath("postgres"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			found = append([]string{filepath.Dir(target)}, found...)
		}
	}
	for _, dir := range found {
		if runnable(filepath.Join(dir, "initdb")) && runnable(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errNone
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// socketRoot is a folder whose names are short enough for a socket: 107 bytes is the limit.
func socketRoot() string {
	const room = 60
	if dir := os.TempDir(); len(dir) <= room {
		return dir
	}
	return "/tmp"
}

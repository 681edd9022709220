package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/task"
)

const (
	pgName = "omoi" // name of the database and of its superuser
	pgPort = 5432   // only part of the socket's name: no TCP listener
)

// postgres is a private PostgreSQL. Clients connect by a Unix socket in a private directory.
type postgres struct {
	cfg  Config
	as   *syscall.Credential // nil: the user of omoi
	bin  string              // directory of initdb and postgres
	base string              // directory of data and socket
	sock string
}

// preparePostgres finds or downloads the programs and creates the data directory.
func preparePostgres(ctx context.Context, cfg Config) (*postgres, error) {
	as, err := postgresUser()
	if err != nil {
		return nil, err
	}
	p := &postgres{cfg: cfg, as: as, base: cfg.PrivateDir("postgres")}
	p.sock = p.socketDir()
	if err := p.folders(); err != nil {
		return nil, err
	}
	if p.bin, err = p.programs(ctx); err != nil {
		return nil, err
	}
	return p, p.initialize(ctx)
}

// socketDir returns the directory of the socket. The path of a Unix socket has at most 107 bytes, so a long home gets a
// directory below the temporary one.
func (p *postgres) socketDir() string {
	if dir := filepath.Join(p.base, "sock"); len(dir) < 80 {
		return dir
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("omoi-%d-%s", os.Geteuid(), hash(p.cfg.Home)))
}

func (p *postgres) folders() error {
	if err := p.cfg.openParents(); err != nil {
		return err
	}
	for _, dir := range []string{p.base, p.sock} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create PostgreSQL's directory: %w", err)
		}
		if p.as == nil {
			continue
		}
		if err := os.Chown(dir, int(p.as.Uid), int(p.as.Gid)); err != nil {
			return fmt.Errorf("change owner of PostgreSQL's directory: %w", err)
		}
	}
	return nil
}

// programs returns the directory of initdb and postgres. Existing data needs the major version that created it.
func (p *postgres) programs(ctx context.Context) (string, error) {
	major := ""
	if content, err := os.ReadFile(filepath.Join(p.data(), "PG_VERSION")); err == nil {
		major = strings.TrimSpace(string(content))
	}
	if dir := FindPostgres(p.cfg.PostgresBin, major); dir != "" {
		return dir, nil
	}
	if p.cfg.PostgresBin != "" && p.cfg.PostgresBin != Download {
		return "", task.Errorf(task.CodeInvalid, "Invalid dev.postgres_bin: %s does not contain initdb and postgres%s", p.cfg.PostgresBin, ofMajor(major))
	}
	return p.downloaded(ctx, major)
}

func ofMajor(major string) string {
	if major == "" {
		return ""
	}
	return " of version " + major + ", which created the data"
}

// downloaded returns the directory of downloaded programs, and downloads them once.
func (p *postgres) downloaded(ctx context.Context, major string) (string, error) {
	version := p.cfg.PostgresVersion
	if major != "" && !strings.HasPrefix(version, major+".") {
		return "", task.Errorf(task.CodeInvalid, "Cannot start PostgreSQL: the data in %s was created by PostgreSQL %s, which is not installed. Next: "+
			"install it, or move the data", p.base, major)
	}
	dir := filepath.Join(filepath.Dir(p.base), "postgresql-"+version)
	if !isPostgres(filepath.Join(dir, "bin")) {
		p.cfg.say("PostgreSQL is not installed: downloading " + version + " once")
		if err := download(ctx, p.cfg.PostgresURL, version, dir); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "bin"), nil
}

func (p *postgres) data() string { return filepath.Join(p.base, "data") }

// initialize creates the data directory atomically.
func (p *postgres) initialize(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(p.data(), "PG_VERSION")); err == nil {
		return nil
	}
	temp := p.data() + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "initdb"), //nolint:gosec // found by find.go
		"--pgdata", temp, "--username", pgName, "--auth", "trust", "--encoding", "UTF8", "--locale", "C")
	cmd.Env, cmd.Dir = p.environ(), p.base
	cmd.SysProcAttr = attributes(p.as, syscall.SIGKILL)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("create the database: %w: %s", err, strings.TrimSpace(output.String()))
	}
	return os.Rename(temp, p.data())
}

func (p *postgres) environ() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + p.base}
}

// program returns the postmaster. Its end signal SIGINT is a fast shutdown, which removes the PID file.
func (p *postgres) program() program {
	return program{
		name: "PostgreSQL", path: filepath.Join(p.bin, "postgres"),
		args: []string{
			"-D", p.data(), "-k", p.sock, "-p", strconv.Itoa(pgPort), "-c", "listen_addresses=",
			"-c", "max_connections=300", "-c", "log_min_messages=warning", "-c", "log_min_error_statement=panic",
			// A commit that creates a WAL segment waits until 16 MB are written, and a checkpoint waits for the
			// kernel's dirty pages. Both would increase the latency of event requests.
			"-c", "min_wal_size=1GB", "-c", "max_wal_size=2GB", "-c", "backend_flush_after=1MB",
		},
		env: p.environ(), dir: p.base, log: filepath.Join(p.cfg.Home, "postgres.log"),
		as: p.as, end: syscall.SIGINT, die: syscall.SIGINT,
	}
}

// clear ends the postmaster of a killed omoi, and removes its PID file and the lock file of its socket. A stale file
// that names an unrelated process would prevent the start.
func (p *postgres) clear(ctx context.Context) error {
	if err := p.clearPostmaster(ctx); err != nil {
		return err
	}
	socket := filepath.Join(p.sock, ".s.PGSQL."+strconv.Itoa(pgPort))
	for _, path := range []string{socket + ".lock", socket} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove PostgreSQL's socket: %w", err)
		}
	}
	return nil
}

func (p *postgres) clearPostmaster(ctx context.Context) error {
	path := filepath.Join(p.data(), "postmaster.pid")
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read PostgreSQL's pid file: %w", err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	ours := func() bool { return err == nil && worksIn(pid, p.data()) }
	if await(ctx, 2*time.Second, func() bool { return !ours() }) != nil { // the kernel's signal may not have arrived yet
		if err := endPID(ctx, pid, ours, syscall.SIGINT, 10*time.Second); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove PostgreSQL's pid file: %w", err)
	}
	return nil
}

// worksIn reports whether a running process has dir as its working directory, as a postmaster has its data directory.
// On systems other than Linux worksIn returns true, and PostgreSQL checks its PID file itself.
func worksIn(pid int, dir string) bool {
	if runtime.GOOS != "linux" {
		return true
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && cwd == dir && birth(pid) != ""
}

// url returns the URL of a database, by the socket.
func (p *postgres) url(database string) string {
	query := url.Values{"host": {p.sock}, "port": {strconv.Itoa(pgPort)}}
	return fmt.Sprintf("postgres://%s@/%s?%s", pgName, database, query.Encode())
}

// ready connects and creates the database if it does not exist.
func (p *postgres) ready(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // the queries have been answered
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", pgName).Scan(&there); err != nil {
		return fmt.Errorf("query PostgreSQL: %w", err)
	}
	if !there {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+pgName)
	}
	return err
}

// postgresUser returns the user that runs PostgreSQL: nil for the user of omoi. PostgreSQL refuses to run as root, so
// root uses the user postgres or else nobody; initdb needs a passwd entry.
func postgresUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil: the user of omoi
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil || found.Uid == "0" {
			continue
		}
		uid, uerr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(found.Gid, 10, 32)
		if err := errors.Join(uerr, gerr); err != nil {
			return nil, fmt.Errorf("read the IDs of user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, task.Errorf(task.CodeInvalid, "PostgreSQL refuses to run as root, and no user postgres or nobody exists. Next: "+
		"create one (useradd --system postgres), or set DATABASE_URL")
}

package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The servers that the intake is compared with. Each is a process of its own, as omoi is.
const (
	naiveServer = "naive"
	leastServer = "least"

	rivalEnv    = "OMOI_BENCH_RIVAL" // which of them this process shall be
	rivalURLEnv = "OMOI_BENCH_RIVAL_DATABASE"
)

// Baseline makes this process one of the servers to compare with, if a benchmark has started it for
// that; it serves until its standard input ends.
func Baseline(ctx context.Context) (is bool, err error) {
	handlers := map[string]func(*pgxpool.Pool) http.Handler{naiveServer: naive, leastServer: newLeast}
	handler, is := handlers[os.Getenv(rivalEnv)]
	if !is {
		return false, nil
	}
	runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2)) //nolint:mnd // half, as omoi dev does
	pool, err := rivalPool(ctx, os.Getenv(rivalURLEnv))
	if err != nil {
		return true, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return true, fmt.Errorf("listen: %w", err)
	}
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		_ = l.Close()
	}()
	if _, err := fmt.Println("http://" + l.Addr().String()); err != nil { //nolint:forbidigo // its parent reads it
		return true, fmt.Errorf("tell the address: %w", err)
	}
	if err := http.Serve(l, handler(pool)); !errors.Is(err, net.ErrClosed) { //nolint:gosec // of a few seconds, on loopback
		return true, fmt.Errorf("serve: %w", err)
	}
	return true, nil
}

func rivalPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	conf, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the address of the database: %w", err)
	}
	conf.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return pool, nil
}

// baseline is such a process, seen from outside.
type baseline struct {
	url  string
	stop func() error
}

func startBaseline(ctx context.Context, name, database string) (baseline, error) {
	self, err := os.Executable()
	if err != nil {
		return baseline{}, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), rivalEnv+"="+name, rivalURLEnv+"="+database)
	in, err := cmd.StdinPipe()
	if err != nil {
		return baseline{}, fmt.Errorf("hold the server %s: %w", name, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return baseline{}, fmt.Errorf("hear the server %s: %w", name, err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return baseline{}, fmt.Errorf("start the server %s: %w", name, err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	stop := func() error { return errors.Join(in.Close(), cmd.Wait()) }
	if err != nil {
		return baseline{}, errors.Join(fmt.Errorf("hear where the server %s is: %w", name, err), stop())
	}
	return baseline{url: strings.TrimSpace(line), stop: stop}, nil
}

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	apiclient "github.com/omoi-dev/omoi/api/client"
)

// startAPI starts `omoi api` in a process of its own beside the development server, on the
// same database, so that its memory and its time are its own.
func (s *server) startAPI(ctx context.Context, cfg Config) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, "api")
	o := &server{
		dir: dir, key: s.key, ring: s.ring, pool: s.pool, info: s.info, env: maps.Clone(s.env), done: make(chan error, 1),
	}
	o.info.APIURL = "http://127.0.0.1:" + strconv.Itoa(port)
	maps.Copy(o.env, map[string]string{
		"OMOI_HOME": filepath.Join(dir, "home"), "OMOI_API_PORT": strconv.Itoa(port), "OMOI_API_CALLBACK_URL": o.info.APIURL,
		"DATABASE_URL": s.info.DatabaseURL, "OMOI_TEMPORAL_ADDRESS": s.info.TemporalAddress,
	})
	o.api = apiclient.New(o.info.APIURL, s.key)
	if err := o.launch(ctx, filepath.Join(cfg.Bin, "omoi"), "api"); err != nil {
		return nil, err
	}
	err = o.until(ctx, startLimit, "omoi api is ready", func() bool {
		state, err := o.api.Ready(ctx)
		return err == nil && state.Ready
	})
	if err != nil {
		return nil, errors.Join(err, o.end())
	}
	return o, nil
}

func freePort() (int, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}) //nolint:mnd // loopback
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // the server takes it
	_, text, _ := net.SplitHostPort(l.Addr().String())
	return strconv.Atoi(text)
}

// resident is a figure of /proc/<pid>/status in megabytes: VmRSS, VmHWM.
func (s *server) resident(figure string) (float64, error) {
	text, _, _ := strings.Cut(firstLine(s.proc("status"), figure), " kB")
	kib, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0, fmt.Errorf("read %s of omoi api: %w", figure, err)
	}
	return kib * 1024 / megabyte, nil //nolint:mnd // kibibytes
}

// forgetPeak begins VmHWM anew.
func (s *server) forgetPeak() error {
	if err := os.WriteFile(s.proc("clear_refs"), []byte("5"), 0); err != nil {
		return fmt.Errorf("begin the peak of omoi api anew: %w", err)
	}
	return nil
}

// processorTime is what the process has used so far.
func (s *server) processorTime() (time.Duration, error) {
	const user, system, perSecond = 11, 12, 100 // after the name; the kernel counts in hundredths
	text, err := os.ReadFile(s.proc("stat"))
	if err != nil {
		return 0, fmt.Errorf("read the time of omoi api: %w", err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int64
	for _, field := range []int{user, system} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the time of omoi api: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / perSecond, nil
}

func (s *server) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), name)
}

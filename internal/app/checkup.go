package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// Statuses of a finding.
const (
	FindingOK   = "ok"
	FindingWarn = "warn" // omoi works with restrictions
	FindingFail = "fail" // omoi dev does not work on this machine
)

// Finding is the result of one check of omoi doctor.
type Finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // next step; empty: none
}

// Sick reports whether a check failed.
func Sick(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == FindingFail })
}

// Checkup runs the checks of omoi doctor. The checks change nothing and take a few seconds at most.
func Checkup(ctx context.Context, cfg *config.Loaded) []Finding {
	info, err := devstack.ReadInfo(cfg.Home)
	running := err == nil && isReady(ctx, info.APIURL)
	if !running {
		info = devstack.Info{}
	}
	findings := []Finding{
		checkDev(info, running), checkConfig(cfg), checkHome(cfg), checkProgram("git", FindingFail, "install git"),
		checkDatabase(ctx, cfg), checkTemporal(ctx, cfg, info), checkAgent(cfg), checkCredentials(ctx, cfg, info.DatabaseURL), checkPacks(ctx, cfg, info.DatabaseURL), checkWatches(cfg),
	}
	findings = append(findings, checkRuntimes(ctx, cfg, info.APIURL)...)
	findings = append(findings, checkWorkers(ctx, cfg, info.APIURL)...)
	for _, name := range task.ProviderNames() {
		if check := wirings[name].doctor; check != nil {
			findings = append(findings, check(ctx, cfg)...)
		}
	}
	findings = append(findings, checkGitHub(ctx, cfg))
	if !running {
		findings = append(findings, checkAPI(ctx, cfg),
			checkPort(ctx, cfg, "dev.temporal_port", cfg.Dev.TemporalPort), checkPort(ctx, cfg, "dev.temporal_ui_port", cfg.Dev.TemporalUIPort))
	}
	return append(findings, checkDisk(cfg))
}

func checkDev(info devstack.Info, running bool) Finding {
	if running {
		return Finding{Check: "omoi dev", Status: FindingOK, Detail: fmt.Sprintf("running at %s, pid %d", info.APIURL, info.PID)}
	}
	return Finding{Check: "omoi dev", Status: FindingOK, Detail: "not running", Next: "omoi dev"}
}

func checkConfig(cfg *config.Loaded) Finding {
	if len(cfg.Warnings) > 0 {
		return Finding{Check: "configuration", Status: FindingWarn, Detail: strings.Join(cfg.Warnings, "; "), Next: "correct these names, or remove them"}
	}
	return Finding{Check: "configuration", Status: FindingOK, Detail: fmt.Sprintf("%d settings; omoi config show", len(cfg.Values))}
}

// checkHome checks whether home, or the nearest existing folder above, is writable.
func checkHome(cfg *config.Loaded) Finding {
	dir := existing(cfg.Home)
	probe, err := os.CreateTemp(dir, ".omoi-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return Finding{Check: "home", Status: FindingFail, Detail: unwritable(dir, err), Next: "set OMOI_HOME to a directory that you own"}
	}
	return Finding{Check: "home", Status: FindingOK, Detail: cfg.Home}
}

// unwritable returns the error without the name of the temporary file.
func unwritable(dir string, err error) string {
	words := "cannot write to " + dir
	// new files below /proc fail with ErrNotExist
	if path, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) {
		words += ": " + path.Err.Error()
	}
	return words
}

func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func checkProgram(name, missing, next string) Finding {
	path, err := exec.LookPath(name)
	if err != nil {
		return Finding{Check: name, Status: missing, Detail: "not on PATH", Next: next}
	}
	return Finding{Check: name, Status: FindingOK, Detail: path}
}

func checkDatabase(ctx context.Context, cfg *config.Loaded) Finding {
	const name = "postgresql"
	if cfg.Database.URL == "" {
		return checkPostgresPrograms(cfg)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := notForeign(ctx, cfg.Database.URL.Reveal()); err != nil {
		return Finding{Check: name, Status: FindingFail, Detail: firstLine(err), Next: "correct DATABASE_URL, or unset it"}
	}
	steps, err := postgres.Status(ctx, cfg.Database.URL.Reveal())
	if err != nil {
		return Finding{Check: name, Status: FindingFail, Detail: firstLine(err), Next: "correct DATABASE_URL, or unset it"}
	}
	if outdated(steps) {
		return Finding{Check: name, Status: FindingWarn, Detail: "the database of DATABASE_URL has an older schema", Next: "omoi migrate up"}
	}
	return Finding{Check: name, Status: FindingOK, Detail: "the server of DATABASE_URL, schema up to date"}
}

func checkPostgresPrograms(cfg *config.Loaded) Finding {
	const name = "postgresql"
	bin := cfg.Dev.PostgresBin
	if dir := devstack.FindPostgres(bin, ""); dir != "" {
		return Finding{Check: name, Status: FindingOK, Detail: dir}
	}
	switch bin {
	case devstack.Download:
		return Finding{Check: name, Status: FindingOK, Detail: "omoi dev downloads it, once"}
	case "":
	default:
		return Finding{Check: name, Status: FindingFail, Detail: bin + " does not contain initdb and postgres", Next: "correct or unset dev.postgres_bin"}
	}
	return Finding{
		Check: name, Status: FindingWarn, Detail: "not on this machine; omoi dev downloads it, once",
		Next: "install PostgreSQL if there is no network",
	}
}

func checkTemporalProgram(cfg *config.Loaded) Finding {
	path, err := devstack.FindTemporal(cfg.Dev.TemporalBin)
	if err != nil {
		next := "make temporal"
		if cfg.Dev.TemporalBin != "" {
			next = "correct or unset dev.temporal_bin"
		}
		return Finding{Check: "temporal", Status: FindingFail, Detail: firstLine(err), Next: next}
	}
	return Finding{Check: "temporal", Status: FindingOK, Detail: path}
}

func checkAgent(cfg *config.Loaded) Finding {
	program, err := agents{cfg.Agent.Binary}.open(runtime.GOARCH)
	if err == nil {
		err = program.Close()
	}
	if err == nil {
		return Finding{Check: "omoi-agent", Status: FindingOK, Detail: "found"}
	}
	next := "make build"
	if cfg.Agent.Binary != "" {
		next = "correct or unset agent.binary; make build creates one beside omoi"
	}
	return Finding{Check: "omoi-agent", Status: FindingFail, Detail: firstLine(err), Next: next}
}

// checkAPI checks the port of the API. An omoi API that already serves there is no fault.
func checkAPI(ctx context.Context, cfg *config.Loaded) Finding {
	if cfg.API.Port != 0 && isReady(ctx, apiURL(cfg)) {
		return Finding{Check: fmt.Sprintf("port %d", cfg.API.Port), Status: FindingOK, Detail: "omoi api serves there"}
	}
	return checkPort(ctx, cfg, "api.port", cfg.API.Port)
}

func checkPort(ctx context.Context, cfg *config.Loaded, key string, port int) Finding {
	check := fmt.Sprintf("port %d", port)
	if port == 0 {
		return Finding{Check: key, Status: FindingOK, Detail: "any free port"}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		err = l.Close()
	}
	switch {
	case err == nil:
		return Finding{Check: check, Status: FindingOK, Detail: key + " is free"}
	case cfg.Given(key):
		return Finding{Check: check, Status: FindingFail, Detail: "in use", Next: "choose another " + key + ", or 0 for a free one"}
	default:
		return Finding{Check: check, Status: FindingWarn, Detail: "in use; omoi dev takes a free one", Next: "set " + key + " to choose"}
	}
}

func checkDisk(cfg *config.Loaded) Finding {
	const least = 2 * gib
	free, err := freeBytes(existing(cfg.Home))
	if err != nil {
		return Finding{Check: "disk", Status: FindingWarn, Detail: firstLine(err), Next: "check the file system of OMOI_HOME"}
	}
	detail := fmt.Sprintf("%.1f GiB free", float64(free)/gib)
	if free < least {
		return Finding{Check: "disk", Status: FindingWarn, Detail: detail, Next: "free disk space, or move OMOI_HOME"}
	}
	return Finding{Check: "disk", Status: FindingOK, Detail: detail}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// freeBytes returns the bytes that an unprivileged user can still write below dir.
func freeBytes(dir string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return stat.Bavail * uint64(stat.Bsize), nil //nolint:gosec // its type differs between systems
}

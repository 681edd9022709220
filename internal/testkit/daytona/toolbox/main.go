package toolbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// Argument is what, as the only one, makes a program that links this package be the daemon.
const Argument = "daytona-emulator-daemon"

// Descriptors that a daemon inherits. The first is its own program, which it was started by.
const (
	fdProgram = 3
	fdControl = 4
	fdListen  = 5
	fdInfo    = 6 // bubblewrap's, which leaves it open
)

// Config is what the emulator tells a daemon by the control pipe: it may hold secrets.
type Config struct {
	Env     map[string]string `json:"env"`   // of everything that is started
	Home    string            `json:"home"`  // home and work folder
	State   string            `json:"state"` // folder of the daemon's own
	Version string            `json:"version"`
	Frame   int               `json:"frame"` // most bytes in a frame of a log stream
	Quiet   time.Duration     `json:"quiet"` // of an ended command, after which its log stream ends
	Grace   time.Duration     `json:"grace"` // between SIGTERM and SIGKILL for a session
	Reap    bool              `json:"reap"`  // nobody else reaps orphans: end and reap them here
}

// An init, since any program that links the emulator, tests too, must be able to be the daemon.
func init() { //nolint:gochecknoinits // see above
	if len(os.Args) == 2 && os.Args[1] == Argument {
		syscall.Exit(run())
	}
}

func run() int {
	for fd := fdProgram; fd <= fdInfo; fd++ {
		syscall.CloseOnExec(fd) // commands must not hold the pipe open
	}
	if err := serve(os.NewFile(fdControl, "control"), os.NewFile(fdListen, "listener")); err != nil {
		fmt.Fprintln(os.Stderr, "daemon of the Daytona emulator, started by it and not by people:", err)
		return 1
	}
	return 0
}

// serve answers until the control pipe closes.
func serve(control io.Reader, listener *os.File) error {
	var cfg Config
	in := json.NewDecoder(control)
	if err := in.Decode(&cfg); err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	ln, err := net.FileListener(listener)
	if err != nil {
		return fmt.Errorf("take over the listener: %w", err)
	}
	_ = os.NewFile(fdProgram, "program").Close()
	d := newDaemon(cfg)
	if cfg.Reap {
		if err := d.tree.adopt(); err != nil {
			return err
		}
	}
	server := &http.Server{Handler: d.routes(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(ln) }() // it ends with the process
	_, _ = in.Token()                    // the end of the pipe
	d.tree.end()
	return nil
}

package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// StyleOf returns the style of a stream: colors on a terminal, unless NO_COLOR is set or TERM is dumb, and its width.
func StyleOf(stream io.Writer, env func(string) string) render.Style {
	plain := env("NO_COLOR") != "" || env("TERM") == "dumb"
	return render.Style{Color: isTerminal(stream) && !plain, Width: widthOf(stream, env)}
}

// widthOf returns COLUMNS or the width of the terminal; 0: unlimited.
func widthOf(stream io.Writer, env func(string) string) int {
	if width, err := strconv.Atoi(env("COLUMNS")); err == nil && width > 0 {
		return width
	}
	if f, ok := stream.(*os.File); ok {
		width, _, _ := term.GetSize(int(f.Fd())) // 0 if stream is not a terminal
		return width
	}
	return 0
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// rawTerminal puts a terminal into raw mode, until restore.
func rawTerminal(in *os.File) (t *sandbox.Terminal, restore func(), err error) {
	fd := int(in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	resized, signals := make(chan sandbox.Size, 1), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		for range signals {
			select {
			case resized <- sizeOf(fd):
			default: // a pending notification exists
			}
		}
	}()
	return &sandbox.Terminal{Size: sizeOf(fd), Resized: resized}, func() {
		signal.Stop(signals)
		close(signals)
		_ = term.Restore(fd, before)
	}, nil
}

func sizeOf(fd int) sandbox.Size {
	columns, rows, err := term.GetSize(fd)
	if err != nil {
		return sandbox.Size{Rows: 24, Columns: 80}
	}
	return sandbox.Size{Rows: uint16(rows), Columns: uint16(columns)} //nolint:gosec // a terminal has fewer rows and columns
}

// longestSecret limits the bytes read of a piped secret.
const longestSecret = 64 << 10

// secret prompts for a value without echo, or reads it from piped input.
func (s *session) secret(ctx context.Context, what string) (string, error) {
	var text string
	var err error
	if in, ok := s.Stdin.(*os.File); ok && isTerminal(in) {
		text, err = s.hidden(ctx, in, what)
	} else if s.Stdin != nil {
		var piped []byte
		piped, err = io.ReadAll(io.LimitReader(s.Stdin, longestSecret))
		text = string(piped)
	}
	if err != nil {
		return "", fmt.Errorf("read the value: %w", err)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", exit.Usagef("the value is empty. Next: type the value when asked, or pipe it in")
	}
	return text, nil
}

// hidden reads a line from a terminal without echo, and restores the terminal at the end.
func (s *session) hidden(ctx context.Context, in *os.File, what string) (string, error) {
	fd := int(in.Fd())
	before, err := term.MakeRaw(fd) // before the prompt, so that no typed character is echoed
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(fd, before) }()
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		screen := struct {
			io.Reader
			io.Writer
		}{in, s.Stderr}
		text, err := term.NewTerminal(screen, "").ReadPassword(what + " (input is hidden): ")
		if errors.Is(err, io.EOF) { // Ctrl-C or Ctrl-D
			err = context.Canceled
		}
		read <- line{text, err}
	}()
	select {
	case got := <-read:
		return got.text, got.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

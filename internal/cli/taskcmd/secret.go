package taskcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/cli/exit"
)

// longestSecret bounds what is read of one.
const longestSecret = 64 << 10

// secret asks for a value without showing it, or reads it from what is piped in.
func (s *session) secret(ctx context.Context, what string) (string, error) {
	in, ok := s.Stdin.(*os.File)
	var text string
	var err error
	if ok && isTerminal(in) {
		text, err = s.hidden(ctx, in, what)
	} else {
		text, err = piped(s.Stdin)
	}
	if text = strings.TrimSpace(text); err == nil && text == "" {
		err = exit.Usagef("nothing was given: type the value when asked, or pipe it in")
	}
	return text, err
}

func piped(r io.Reader) (string, error) {
	if r == nil {
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(r, longestSecret))
	if err != nil {
		return "", fmt.Errorf("read the value from standard input: %w", err)
	}
	return string(text), nil
}

// hidden reads a line of a terminal that does not show what is typed. However it ends the terminal is left as it was.
func (s *session) hidden(ctx context.Context, in *os.File, what string) (string, error) {
	fd := int(in.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return "", fmt.Errorf("ask the terminal: %w", err)
	}
	quiet := *before
	quiet.Lflag = quiet.Lflag&^unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(fd, setTermios, &quiet); err != nil {
		return "", fmt.Errorf("keep the terminal from showing a secret: %w; pipe it in instead", err)
	}
	defer func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }()
	_, _ = fmt.Fprintf(s.Stderr, "%s (it is not shown): ", what)
	return line(ctx, in)
}

// line reads up to the end of a line, or until ctx ends.
func line(ctx context.Context, in io.Reader) (string, error) {
	type got struct {
		text string
		err  error
	}
	read := make(chan got, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		read <- got{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case g := <-read:
		return g.text, g.err
	}
}

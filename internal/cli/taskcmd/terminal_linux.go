package taskcmd

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// rawTerminal hands every key on as it is typed, until restore.
func rawTerminal(in *os.File) (t *sandbox.Terminal, restore func(), err error) {
	fd := int(in.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, nil, fmt.Errorf("ask the terminal: %w", err)
	}
	raw := *before
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
		return nil, nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	resized := make(chan sandbox.Size, 1)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGWINCH)
	go func() {
		for range signals {
			select {
			case resized <- sizeOf(fd):
			default: // the next one says it
			}
		}
	}()
	return &sandbox.Terminal{Size: sizeOf(fd), Resized: resized}, func() {
		signal.Stop(signals)
		close(signals)
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, before)
	}, nil
}

func sizeOf(fd int) sandbox.Size {
	size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return sandbox.Size{Rows: 24, Columns: 80}
	}
	return sandbox.Size{Rows: size.Row, Columns: size.Col}
}

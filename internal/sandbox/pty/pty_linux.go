package pty

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// Open makes a pair: ours is the person's end, theirs the program's. The caller closes both.
func Open(size sandbox.Size) (ours, theirs *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	if theirs, err = other(ours, size); err != nil {
		return nil, nil, errors.Join(err, ours.Close())
	}
	return ours, theirs, nil
}

func other(ours *os.File, size sandbox.Size) (*os.File, error) {
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, fmt.Errorf("unlock a terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, fmt.Errorf("find a terminal's other end: %w", err)
	}
	if err := Resize(ours, size); err != nil {
		return nil, err
	}
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("open a terminal's other end: %w", err)
	}
	return theirs, nil
}

// Resize changes the size of a terminal.
func Resize(ours *os.File, size sandbox.Size) error {
	err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
	if err != nil {
		return fmt.Errorf("size a terminal: %w", err)
	}
	return nil
}

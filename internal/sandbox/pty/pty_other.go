//go:build !linux

package pty

import (
	"errors"
	"os"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// Open cannot be done here.
func Open(sandbox.Size) (ours, theirs *os.File, err error) { return nil, nil, errors.ErrUnsupported }

// Resize cannot be done here.
func Resize(*os.File, sandbox.Size) error { return errors.ErrUnsupported }

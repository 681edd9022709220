package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// Sizes of reads. They are small, because omoi-agent shares the memory of the sandbox.
const (
	pieceBytes = 512 << 10
	maxLine    = 2 << 20 // a longer line is replaced by a line that says so
)

// read returns complete lines from offset at, without secrets, and their length in the file.
func read(f *os.File, at int64, secrets *redact.Hider) (piece []byte, raw int64, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, at, 1<<62), 64<<10)
	for len(piece) < pieceBytes {
		line, n, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read transcript: %w", err)
		}
		piece = append(piece, secrets.Text(string(line))...)
		piece = append(piece, '\n')
		raw += n
	}
	return piece, raw, nil
}

// readLine returns a line without its newline, and its length with it.
func readLine(in *bufio.Reader) (line []byte, n int64, err error) {
	line, full, err := textcut.ReadLine(in, maxLine, 0)
	switch {
	case err != nil:
		return nil, 0, err
	case full > maxLine:
		return fmt.Appendf(nil, `{"type":"omoi_line_left_out","bytes":%d}`, full), int64(full), nil
	}
	return line[:len(line)-1], int64(full), nil
}

// find returns the position that the API names; zero if the file does not match it.
func find(f *os.File, mark transcript.Mark, secrets *redact.Hider) (place, error) {
	var p place
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)
	for p.sent < mark.Received {
		line, n, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return place{}, nil
		}
		if err != nil {
			return place{}, fmt.Errorf("read transcript: %w", err)
		}
		p = p.after(append([]byte(secrets.Text(string(line))), '\n'), n)
	}
	if p.sent != mark.Received || int64(p.sum) != mark.Sum {
		return place{}, nil
	}
	return p, nil
}

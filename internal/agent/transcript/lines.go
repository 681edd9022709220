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

// What is read at once: little, since the agent shares the sandbox's memory with the work.
const (
	pieceBytes = 512 << 10
	maxLine    = 2 << 20 // a longer one is left out, and a line says so
)

// read returns whole lines from at on, without secrets, and how many bytes of the file they
// take. A line without an end is not finished yet.
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

// readLine returns a line without its end, and its length with it.
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

// find looks for the place that the API names. The start of the file is the answer where it
// is in none.
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

// weircat prints logs, a line of JSON for each event, as weir cat does.
//
//	weircat DIRECTORY...                   offset, id, time, event, fields; "[redacted]" for sensitive values
//	weircat --show-sensitive DIRECTORY...  sensitive values as they are
//	weircat --raw DIRECTORY...             the time in nanoseconds, and the bytes behind the fields in hexadecimal: all
//	                                       as stored, sensitive values too
//	weircat --compare <names               reads names of directories from its standard input, a line each, and prints
//	                                       each log as readers are compared: Tests/Golden/README.md has the form
//
// Exits with 1 if a log is damaged or can't be read, after what could be read is printed.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"

	"weir"
)

const usage = `usage: weircat [--show-sensitive | --raw] DIRECTORY...
       weircat --compare <names
Prints a line of JSON for each event, with sensitive values as "[redacted]".
  --show-sensitive  print sensitive values as they are
  --raw             the bytes behind the fields, too: all as stored, sensitive values too
  --compare         reads directories from standard input, for tests`

func main() {
	showSensitive := flag.Bool("show-sensitive", false, "")
	raw := flag.Bool("raw", false, "")
	compared := flag.Bool("compare", false, "")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	flag.Parse()
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	if *compared == (flag.NArg() > 0) || flag.NFlag() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	if *compared {
		compare(out)
		return
	}
	appendEvent := appendRaw
	if !*raw {
		appendEvent = func(b []byte, e *weir.Event) []byte { return appendShown(b, e, *showSensitive) }
	}
	failed := false
	for _, directory := range flag.Args() {
		damaged, err := cat(out, directory, appendEvent)
		if err != nil {
			out.Flush()
			fmt.Fprintln(os.Stderr, "weircat:", err)
		}
		failed = failed || damaged || err != nil
	}
	if out.Flush() != nil || failed {
		os.Exit(1)
	}
}

// cat prints a log, and says whether any of it is damaged.
func cat(out *bufio.Writer, directory string, appendEvent func([]byte, *weir.Event) []byte) (damaged bool, err error) {
	log, err := weir.Open(directory)
	if err != nil {
		return false, err
	}
	defer log.Close()
	var line []byte
	for log.Next() {
		damaged = tell(log.Skipped()) || damaged
		line = appendEvent(line[:0], log.Event())
		if _, err := out.Write(line); err != nil {
			return damaged, err
		}
	}
	damaged = tell(log.Skipped()) || damaged
	return damaged, log.Err()
}

// isDamage says whether what was passed over ought to be there.
func isDamage(skip weir.Skip) bool { return !skip.Removed && !skip.LeftOut }

// tell reports what was passed over, and says whether any of it is damage.
func tell(skipped []weir.Skip) (damaged bool) {
	for _, skip := range skipped {
		damaged = damaged || isDamage(skip)
		if skip.Count > 0 {
			fmt.Fprintf(os.Stderr, "weircat: offsets %d to %d: %s (%s)\n", skip.First, skip.First+skip.Count-1, skip.Reason,
				skip.File)
		} else {
			fmt.Fprintf(os.Stderr, "weircat: %s, byte %d: %s\n", skip.File, skip.Position, skip.Reason)
		}
	}
	return damaged
}

// A passed is a range of offsets that no event has: ranges that follow on one another are one line.
type passed struct {
	first, count uint64
	removed      bool
}

func (p *passed) print(out *bufio.Writer) {
	what := "missing"
	if p.removed {
		what = "removed"
	}
	if p.count > 0 {
		fmt.Fprintf(out, "{\"%s\":%d,\"count\":%d}\n", what, p.first, p.count)
	}
	p.count = 0
}

// add joins what was passed over, and says whether any of it is damage.
func (p *passed) add(out *bufio.Writer, skipped []weir.Skip) bool {
	damaged := false
	for _, skip := range skipped {
		damaged = damaged || isDamage(skip)
		if skip.Count == 0 || skip.LeftOut {
			continue
		}
		if p.count > 0 && p.removed == skip.Removed && p.first+p.count == skip.First {
			p.count += skip.Count
			continue
		}
		p.print(out)
		*p = passed{skip.First, skip.Count, skip.Removed}
	}
	return damaged
}

func compare(out *bufio.Writer) {
	names := bufio.NewScanner(os.Stdin)
	for names.Scan() {
		compareLog(out, names.Text())
		out.WriteString(".\n")
		out.Flush()
	}
}

func compareLog(out *bufio.Writer, directory string) {
	log, err := weir.Open(directory)
	damaged := false
	if err == nil {
		var range_ passed
		var line []byte
		for log.Next() {
			damaged = range_.add(out, log.Skipped()) || damaged
			range_.print(out)
			line = appendCompared(line[:0], log.Event())
			out.Write(line)
		}
		damaged = range_.add(out, log.Skipped()) || damaged
		range_.print(out)
		err = log.Err()
		log.Close()
	}
	end := "complete"
	switch {
	case errors.Is(err, weir.ErrVersion):
		end = "newer"
	case errors.Is(err, weir.ErrMissing):
		end = "none"
	case errors.Is(err, weir.ErrDirectory):
		end = "directory"
	case err != nil:
		end = err.Error()
	}
	fmt.Fprintf(out, "{\"end\":%q,\"damaged\":%v}\n", end, damaged)
}

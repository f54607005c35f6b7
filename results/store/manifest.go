package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"time"
)

// Manifest says what a run was: enough to repeat it, and to tell what two runs do not share.
type Manifest struct {
	ID        string            `json:"id"` // name of the file without its ending
	Started   time.Time         `json:"started"`
	Ended     *time.Time        `json:"ended,omitempty"` // nil: the run is going on, or was interrupted
	Command   []string          `json:"command"`         // the exact command line
	Commit    string            `json:"commit"`          // of the harness; "" if it is not known
	Dirty     bool              `json:"dirty"`           // the work tree differed from the commit
	Suite     string            `json:"suite"`           // quick, core, providers, full
	Seed      int64             `json:"seed"`
	Repeat    int               `json:"repeat"`
	Parallel  int               `json:"parallel"`
	Substrate string            `json:"substrate"` // process, container
	PlanHash  string            `json:"plan_hash"` // of the ids of all planned trials
	Planned   int               `json:"planned"`   // trials
	Resumed   int               `json:"resumed"`   // how often the run was resumed
	Seconds   float64           `json:"seconds"`   // real time at work, pauses left out; a session that was killed is not in it
	Versions  map[string]string `json:"versions"`  // of the harness, its libraries and the systems
	Machine   Machine           `json:"machine"`
	Reread    int               `json:"reread"` // trials whose state was read again at the run's end
	Late      int               `json:"late"`   // effects found so that came after their trial was over
}

// Machine is where a run ran. It names no host and no user.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Kernel string `json:"kernel,omitempty"`
	Memory int64  `json:"memory_bytes,omitempty"`
}

// Here describes this machine.
func Here() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int64
		if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kib); err == nil {
			m.Memory = kib * 1024
		}
	}
	return m
}

// module is the path whose work tree Commit reads.
const module = "github.com/sixthcopy/sixthcopy"

// Commit returns the commit that this binary was built from and whether the work tree differed from it.
// `go run` does not stamp its binaries: then the work tree around the current folder is asked, if it is
// one of this module. With neither, the commit is "".
func Commit(ctx context.Context) (commit string, dirty bool) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value
			case "vcs.modified":
				dirty = s.Value == "true"
			}
		}
	}
	if commit != "" {
		return commit, dirty
	}
	top, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel", "HEAD").Output()
	if err != nil {
		return "", false
	}
	folder, head, _ := strings.Cut(strings.TrimSpace(string(top)), "\n")
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil || !strings.HasPrefix(string(mod), "module "+module+"\n") {
		return "", false
	}
	changed, err := exec.CommandContext(ctx, "git", "-C", folder, "status", "--porcelain").Output()
	return head, err != nil || len(changed) > 0
}

// Versions returns the versions of Go and of the modules in this binary whose paths are named.
func Versions(modules ...string) map[string]string {
	v := map[string]string{"go": runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, m := range modules {
		for _, d := range info.Deps {
			if d.Path == m {
				v[m] = d.Version
			}
		}
	}
	return v
}

// Folder is where runs lie unless the user says otherwise, below the current folder.
const Folder = "results/runs"

// DefaultPath names a new run file below dir by the time of its start (UTC) and its suite. A number is
// added if there is one of that name.
func DefaultPath(dir string, started time.Time, suite string) string {
	name := started.UTC().Format("20060102-150405") + "-" + suite
	path := filepath.Join(dir, name+".db")
	for n := 2; exists(path); n++ {
		path = filepath.Join(dir, fmt.Sprintf("%s-%d.db", name, n))
	}
	return path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Newest returns the path of the newest run in dir, by the time when it started.
func Newest(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil {
		return "", fmt.Errorf("runs in %s: %w", dir, err)
	}
	type found struct {
		path    string
		started time.Time
	}
	var all []found
	var unread error
	for _, f := range files {
		s, err := Open(f)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		m, err := s.Manifest()
		if err = errors.Join(err, s.Close()); err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		all = append(all, found{f, m.Started})
	}
	if len(all) == 0 {
		return "", errors.Join(fmt.Errorf("no run in %s: make one with `sixthcopy run`, or name a file", dir), unread)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].started.After(all[j].started) })
	return all[0].path, nil
}

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fakeAlone is a `sixthcopy provide` that runs, and what it said of itself.
type fakeAlone struct {
	*testing.T
	cmd  *exec.Cmd
	err  strings.Builder
	said provided
	line string // what it printed
}

// provideAlone runs the command line in dir and waits for its line.
func provideAlone(t *testing.T, dir string, args ...string) *fakeAlone {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "sixthcopy") // by this name the test binary is the program
	if err := os.Symlink(exe, program); err != nil {
		t.Fatal(err)
	}
	f := &fakeAlone{T: t, cmd: exec.Command(program, append([]string{"provide"}, args...)...)}
	f.cmd.Dir, f.cmd.Stderr = dir, &f.err
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.cmd.Process.Kill() }) // it has ended already, if all is well
	f.line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("its line: %v, after %q; stderr: %s", err, f.line, f.err.String())
	}
	if err := json.Unmarshal([]byte(f.line), &f.said); err != nil {
		t.Fatalf("its line %q: %v", f.line, err)
	}
	return f
}

// end sends a signal and wants status 0, nothing on stderr, and the token file gone.
func (f *fakeAlone) end(by syscall.Signal) {
	f.Helper()
	if err := f.cmd.Process.Signal(by); err != nil {
		f.Fatal(err)
	}
	_ = f.cmd.Wait() // its status is read below
	if got := f.cmd.ProcessState.ExitCode(); got != 0 || f.err.Len() > 0 {
		f.Fatalf("exit status %d after %v, expected 0; stderr: %s", got, by, f.err.String())
	}
	if _, err := os.Stat(f.said.TokenFile); !os.IsNotExist(err) {
		f.Errorf("token file %s: %v, expected it to be gone", f.said.TokenFile, err)
	}
}

// refund sends one of 25.00 under a key and returns its object, or the error of the connection.
func (f *fakeAlone) refund(order, key string) (string, error) {
	f.Helper()
	form := url.Values{"payment_intent": {order}, "amount": {"2500"}}
	req, err := http.NewRequest("POST", f.said.Address+"/v1/refunds", strings.NewReader(form.Encode()))
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set("Authorization", "Bearer sk_test_1")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var made struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || res.StatusCode != 200 {
		f.Fatalf("refund: status %d, %v", res.StatusCode, err)
	}
	return made.ID, nil
}

// control sends a request to the control address and reads its answer.
func (f *fakeAlone) control(into any, method, path, body string) {
	f.Helper()
	token, err := os.ReadFile(f.said.TokenFile)
	if err != nil {
		f.Fatal(err)
	}
	req, err := http.NewRequest(method, f.said.Control+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+string(token))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		f.Fatalf("%s %s %s: status %d, %v: %s", method, path, body, res.StatusCode, err, text)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		f.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

func (f *fakeAlone) effects() int {
	f.Helper()
	var all []struct{ Object string }
	f.control(&all, "GET", "/effects", "")
	return len(all)
}

// TestProvideAlone serves a fake as a user does: one line, a token that only its owner reads, an answer that is
// lost, a retry that is replayed, and an end by either signal.
func TestProvideAlone(t *testing.T) {
	f := provideAlone(t, t.TempDir(), "stripe-v1")
	want := fmt.Sprintf(`{"name":"stripe-v1","address":%q,"control":%q,"token_file":%q}`+"\n", f.said.Address, f.said.Control, f.said.TokenFile)
	if f.line != want || !strings.HasPrefix(f.said.Address, "http://127.0.0.1:") || !strings.HasPrefix(f.said.Control, "http://127.0.0.1:") {
		t.Errorf("it says %q", f.line)
	}
	info, err := os.Stat(f.said.TokenFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("token file: %v, mode %v; expected 0600", err, info.Mode())
	}
	f.control(nil, "POST", "/gate", `{"at":"committed","act":"reset","class":"refund"}`)
	if id, err := f.refund("o1", "k1"); err == nil {
		t.Fatalf("the answer was to be lost, and is %s", id)
	}
	var order struct {
		State  string
		Struck []struct{ Request, Point string }
	}
	f.control(&order, "GET", "/gate/o1?wait=10s", "")
	if order.State != "done" || len(order.Struck) != 1 || order.Struck[0].Request != "r1" || order.Struck[0].Point != "committed" {
		t.Errorf("the strike does not show: %+v", order)
	}
	first, err := f.refund("o1", "k1")
	if err != nil || f.effects() != 1 {
		t.Fatalf("retry under the key: %s, %v, %d effects; expected the one", first, err, f.effects())
	}
	f.control(nil, "POST", "/clock", `{"pass":"25h"}`)
	second, err := f.refund("o1", "k1")
	if err != nil || second == first || f.effects() != 2 {
		t.Errorf("a day later under the key: %s after %s, %v, %d effects; expected a second one", second, first, err, f.effects())
	}
	f.end(syscall.SIGTERM)
}

// TestProvideStore: what was committed, its key and the clock survive an end by a signal and an end without one.
func TestProvideStore(t *testing.T) {
	dir := t.TempDir()
	f := provideAlone(t, dir, "stripe-v1", "--store", "s.db")
	first, err := f.refund("o1", "k1")
	if err != nil {
		t.Fatal(err)
	}
	f.control(nil, "POST", "/clock", `{"pass":"23h"}`)
	f.end(syscall.SIGINT)

	f = provideAlone(t, dir, "stripe-v1", "--store", "s.db")
	if again, err := f.refund("o1", "k1"); err != nil || again != first || f.effects() != 1 {
		t.Fatalf("under the key of before the restart: %s, %v; expected %s and one effect", again, err, first)
	}
	if _, err := f.refund("o2", "k2"); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.cmd.Wait() // killed

	f = provideAlone(t, dir, "stripe-v1", "--store", "s.db")
	if n := f.effects(); n != 2 {
		t.Errorf("%d effects after SIGKILL, expected 2", n)
	}
	f.control(nil, "POST", "/clock", `{"pass":"2h"}`) // 23 h of the first life and these
	if again, err := f.refund("o1", "k1"); err != nil || again == first {
		t.Errorf("25 h after the first: %s, %v; expected a new one", again, err)
	}
	f.end(syscall.SIGTERM)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the store lies %v (%v), expected nothing", left, err)
	}
}

// TestProvideStoreIsServedOnce: a second process on a store says so and leaves it alone.
func TestProvideStoreIsServedOnce(t *testing.T) {
	dir := t.TempDir()
	f := provideAlone(t, dir, "stripe-v1", "--store", "s.db")
	second := exec.Command(f.cmd.Path, "provide", "stripe-v1", "--store", "s.db")
	second.Dir = dir
	out, _ := second.CombinedOutput() // its status is read below
	if got := second.ProcessState.ExitCode(); got != 2 || !strings.Contains(string(out), "s.db is served by another process") {
		t.Errorf("exit status %d, expected 2: %s", got, out)
	}
	if _, err := f.refund("o1", "k1"); err != nil || f.effects() != 1 {
		t.Errorf("the first one afterwards: %v, %d effects", err, f.effects())
	}
	f.end(syscall.SIGTERM)
	other := exec.Command(f.cmd.Path, "provide", "ecs-run-task", "--store", "s.db")
	other.Dir = dir
	out, _ = other.CombinedOutput() // likewise
	if got := other.ProcessState.ExitCode(); got != 2 || !strings.Contains(string(out), "s.db is of contract stripe-v1, not of ecs-run-task") {
		t.Errorf("exit status %d, expected 2: %s", got, out)
	}
}

// TestProvideEndsWithACallInHand: a held call does not keep the fake from ending; what it had committed is kept.
func TestProvideEndsWithACallInHand(t *testing.T) {
	dir := t.TempDir()
	f := provideAlone(t, dir, "stripe-v1", "--store", "s.db")
	f.control(nil, "POST", "/gate", `{"at":"committed","act":"hold"}`)
	lost := make(chan error, 1)
	go func() {
		id, err := f.refund("o1", "k1")
		if err == nil {
			err = fmt.Errorf("answered with %s", id)
		}
		lost <- err
	}()
	f.control(nil, "GET", "/gate/o1?wait=10s", "")
	f.end(syscall.SIGTERM)
	if err := <-lost; err == nil || strings.Contains(err.Error(), "answered") {
		t.Errorf("the held call: %v, expected a lost connection", err)
	}
	f = provideAlone(t, dir, "stripe-v1", "--store", "s.db")
	if n := f.effects(); n != 1 {
		t.Errorf("%d effects after the restart, expected the one that was committed", n)
	}
	f.end(syscall.SIGTERM)
}

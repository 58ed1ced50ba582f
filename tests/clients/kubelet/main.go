// Command kubelet serves the streams of pods as upstream does, with the commands and ports of this machine in place of containers.
//
// Pod "new" is behind what kube-apiserver translates websockets with (v5.channel.k8s.io), pod "old" is the streaming server of container
// runtimes alone (v4.channel.k8s.io). The address is the first line of its output; it ends with its input.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	translator "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idle     = time.Minute
	creation = 10 * time.Second
)

// machine runs commands and reaches ports here.
type machine struct{}

func (machine) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if tty {
		size := <-resize
		_, failed := fmt.Fprintf(out, "%dx%d", size.Width, size.Height)
		return failed
	}
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	if in != nil {
		pipe, failed := run.StdinPipe()
		if failed != nil {
			return failed
		}
		go func() {
			defer pipe.Close()
			io.Copy(pipe, in)
		}()
	}
	if out != nil {
		run.Stdout = out
	}
	if err != nil {
		run.Stderr = err
	}
	failed := run.Run()
	var exit *exec.ExitError
	if errors.As(failed, &exit) {
		return utilexec.CodeExitError{Err: failed, Code: exit.ExitCode()}
	}
	return failed
}

func (machine) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	_, err := io.Copy(out, in)
	return err
}

func (machine) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer connection.Close()
	go io.Copy(connection, stream)
	_, err = io.Copy(stream, connection)
	return err
}

func wanted(query url.Values) (stdin, stdout, stderr, tty bool) {
	is := func(name string) bool { return query.Get(name) == "true" }
	return is("stdin"), is("stdout"), is("stderr"), is("tty")
}

// node is the streaming server.
func node(w http.ResponseWriter, r *http.Request, verb string) {
	query := r.URL.Query()
	stdin, stdout, stderr, tty := wanted(query)
	options := &remotecommand.Options{Stdin: stdin, Stdout: stdout, Stderr: stderr, TTY: tty}
	protocols := remotecommand.SupportedStreamingProtocols
	switch verb {
	case "exec":
		remotecommand.ServeExec(w, r, machine{}, "pod", "uid", "container", query["command"], options, idle, creation, protocols)
	case "attach":
		remotecommand.ServeAttach(w, r, machine{}, "pod", "uid", "container", options, idle, creation, protocols)
	case "portforward":
		var ports []int32
		for _, text := range strings.Split(query.Get("ports"), ",") {
			port, err := strconv.ParseUint(text, 10, 16)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			ports = append(ports, int32(port))
		}
		portforward.ServePortForward(w, r, machine{}, "pod", "uid", &portforward.V4Options{Ports: ports}, idle, creation, portforward.SupportedProtocols)
	default:
		http.NotFound(w, r)
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/node/{verb}", func(w http.ResponseWriter, r *http.Request) { node(w, r, r.PathValue("verb")) })
	mux.HandleFunc("/api/v1/namespaces/{namespace}/pods/{pod}/{verb}", func(w http.ResponseWriter, r *http.Request) {
		verb := r.PathValue("verb")
		if r.PathValue("pod") == "old" || verb == "portforward" {
			node(w, r, verb)
			return
		}
		location := &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/node/" + verb, RawQuery: r.URL.RawQuery}
		stdin, stdout, stderr, tty := wanted(r.URL.Query())
		options := translator.Options{Stdin: stdin, Stdout: stdout, Stderr: stderr, Tty: tty}
		translator.NewStreamTranslatorHandler(location, http.DefaultTransport, 0, options).ServeHTTP(w, r)
	})
	go http.Serve(listener, mux)
	fmt.Println(listener.Addr())
	io.Copy(io.Discard, os.Stdin)
}

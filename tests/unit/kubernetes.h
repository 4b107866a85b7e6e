/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer of a kubelet to /pods, in the format of Kubernetes 1.33. */
#pragma once

#define WEB_ID   "4f2a0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define WEB_UID  "8a6d1f3e-0c2b-4a57-9f10-5d2b7c3e4f61"
#define WEB_UID_ "8a6d1f3e_0c2b_4a57_9f10_5d2b7c3e4f61"
#define LOG_ID   "1111222233334444555566667777888811112222333344445555666677778888"
/* not in the list: kubelets do not show sandboxes */
#define SANDBOX_ID "beefbeef33334444555566667777888811112222333344445555666677778888"
#define CRON_ID    "aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999"
#define CRON_UID   "0d0e0f10-1112-4314-9516-171819202122"
#define STATIC_ID  "3b1f8f5ae1cb2bf5a3f1e1c54ab7b3d1"
#define MIRROR     "77777777-8888-4999-8aaa-bbbbbbbbbbbb"
#define DIGEST     "9d6b58feebd2dbd3c56ab5853333d627cc6e281011cfd6050fa4bcf2072c9496"

#define KUBELET_WEB                                                                                \
	"{\"metadata\":{\"name\":\"web-7d4b9c6f8d-x2x5k\",\"generateName\":\"web-7d4b9c6f8d-\","   \
	"\"namespace\":\"shop\",\"uid\":\"" WEB_UID "\",\"resourceVersion\":\"81234\","            \
	"\"creationTimestamp\":\"2026-11-01T08:00:00Z\",\"labels\":{\"app\":\"web\","              \
	"\"pod-template-hash\":\"7d4b9c6f8d\",\"tier\":\"front\"},\"annotations\":{"               \
	"\"kubernetes.io/config.seen\":\"2026-11-01T08:00:00.1Z\","                                \
	"\"kubernetes.io/config.source\":\"api\",\"note\":\"a \\\"quoted\\\" {brace [\"},"         \
	"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","                \
	"\"name\":\"web-7d4b9c6f8d\",\"uid\":\"5e5e5e5e-1111-4222-8333-444444444444\","            \
	"\"controller\":true,\"blockOwnerDeletion\":true}]},"                                      \
	"\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-abcde\",\"projected\":{\"sources\":["  \
	"{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}}],"              \
	"\"defaultMode\":420}}],\"initContainers\":[{\"name\":\"migrate\","                        \
	"\"image\":\"registry.example:5000/shop/migrate:7\"}],\"containers\":[{"                   \
	"\"name\":\"nginx\",\"image\":\"nginx:1.27.2\",\"ports\":[{\"containerPort\":80,"          \
	"\"protocol\":\"TCP\"}],\"resources\":{}},{\"name\":\"log\","                              \
	"\"image\":\"registry.example:5000/shop/log:latest\"}],\"nodeName\":\"node-1\","           \
	"\"hostNetwork\":false},\"status\":{\"phase\":\"Running\",\"hostIP\":\"10.0.0.7\","        \
	"\"initContainerStatuses\":[{\"name\":\"migrate\",\"state\":{\"terminated\":{"             \
	"\"exitCode\":0}},\"ready\":true,\"restartCount\":0,\"containerID\":\"\"}],"               \
	"\"containerStatuses\":[{\"name\":\"log\",\"state\":{\"running\":{}},\"ready\":true,"      \
	"\"image\":\"registry.example:5000/shop/log:latest\","                                     \
	"\"imageID\":\"registry.example:5000/shop/log@sha256:" DIGEST "\","                        \
	"\"containerID\":\"containerd://" LOG_ID "\",\"started\":true},{\"name\":\"nginx\","       \
	"\"state\":{\"running\":{}},\"ready\":true,\"image\":\"docker.io/library/nginx:1.27.2\","  \
	"\"imageID\":\"docker.io/library/nginx@sha256:" DIGEST "\","                               \
	"\"containerID\":\"containerd://" WEB_ID "\",\"started\":true}],\"qosClass\":"             \
	"\"Burstable\"}}"

#define KUBELET_CRON                                                                               \
	"{\"metadata\":{\"name\":\"backup-29384720-zk4wd\",\"namespace\":\"ops\",\"uid\":"         \
	"\"" CRON_UID "\",\"labels\":{\"batch.kubernetes.io/job-name\":\"backup-29384720\","       \
	"\"app.kubernetes.io/version\":\"2.0.1\"},"                                                \
	"\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","                      \
	"\"name\":\"backup-29384720\",\"controller\":true}]},\"spec\":{\"containers\":[{"          \
	"\"name\":\"main\",\"image\":\"backup@sha256:" DIGEST "\"}]},\"status\":{"                 \
	"\"containerStatuses\":[{\"name\":\"main\",\"imageID\":\"sha256:" DIGEST "\","             \
	"\"containerID\":\"cri-o://" CRON_ID "\"}]}}"

/* A kubelet has no status of its static pods. */
#define KUBELET_STATIC                                                                             \
	"{\"metadata\":{\"name\":\"kube-scheduler-node-1\",\"namespace\":\"kube-system\","         \
	"\"uid\":\"" STATIC_ID "\",\"labels\":{\"component\":\"kube-scheduler\"},"                 \
	"\"annotations\":{\"kubernetes.io/config.hash\":\"" STATIC_ID "\","                        \
	"\"kubernetes.io/config.source\":\"file\"}},\"spec\":{\"containers\":[{"                   \
	"\"name\":\"kube-scheduler\",\"image\":\"images.example/kube-scheduler:v1.33.1\"}]},"      \
	"\"status\":{\"phase\":\"Pending\"}}"

#define KUBELET_LIST(items)                                                                        \
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[" items "]}\n"
#define KUBELET_PODS KUBELET_LIST(KUBELET_WEB "," KUBELET_CRON "," KUBELET_STATIC)

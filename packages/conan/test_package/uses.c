#include <holdfast/holdfast.h>
#include <stdio.h>

int main(void)
{
    struct hf_client *client;
    struct hf_error error;

    if (hf_client_new_url(&client, "redis://127.0.0.1:6379", &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    hf_client_free(client);
    printf("holdfast %s\n", hf_version());
    return 0;
}
